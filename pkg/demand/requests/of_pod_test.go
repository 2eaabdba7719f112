// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

func cpu(quantity string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(quantity)}
}

func requesting(quantity string) corev1.Container {
	return corev1.Container{Name: "main", Resources: corev1.ResourceRequirements{Requests: cpu(quantity)}}
}

func sidecar(quantity string) corev1.Container {
	container := requesting(quantity)
	container.Name, container.RestartPolicy = "sidecar", ptr.To(corev1.ContainerRestartPolicyAlways)
	return container
}

func TestWhatAPodRequests(t *testing.T) {
	whole := &corev1.ResourceRequirements{Requests: cpu("4")}
	resizing := corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{Name: "main", AllocatedResources: cpu("3"), Resources: &corev1.ResourceRequirements{Requests: cpu("5")}},
	}}
	for name, c := range map[string]struct {
		spec   corev1.PodSpec
		status corev1.PodStatus
		want   string
	}{
		"containers add up":                               {spec: corev1.PodSpec{Containers: []corev1.Container{requesting("1"), requesting("2")}}, want: "3"},
		"a sidecar runs beside the containers":            {spec: corev1.PodSpec{InitContainers: []corev1.Container{sidecar("1")}, Containers: []corev1.Container{requesting("2")}}, want: "3"},
		"overhead comes on top of an init container":      {spec: corev1.PodSpec{InitContainers: []corev1.Container{requesting("4")}, Containers: []corev1.Container{requesting("1")}, Overhead: cpu("500m")}, want: "4500m"},
		"the pod requests as a whole":                     {spec: corev1.PodSpec{Resources: whole, Containers: []corev1.Container{{}}}, want: "4"},
		"the whole includes containers":                   {spec: corev1.PodSpec{Resources: whole, Containers: []corev1.Container{requesting("1")}}, want: "4"},
		"overhead comes on top of the whole":              {spec: corev1.PodSpec{Resources: whole, Overhead: cpu("500m")}, want: "4500m"},
		"containers count if they are more":               {spec: corev1.PodSpec{Resources: whole, Containers: []corev1.Container{requesting("6")}}, want: "6"},
		"a pod that shrinks has what its node gives it":   {spec: corev1.PodSpec{Containers: []corev1.Container{requesting("1")}}, status: resizing, want: "5"},
		"a pod that grows has what it asks for":           {spec: corev1.PodSpec{Containers: []corev1.Container{requesting("8")}}, status: resizing, want: "8"},
		"what cannot be counted is the most that can":     {spec: corev1.PodSpec{Containers: []corev1.Container{requesting("1e999999999"), requesting("1")}}, want: "9007199254740993"},
		"nothing is requested":                            {spec: corev1.PodSpec{Containers: []corev1.Container{{}}}, want: "0"},
		"the pod limits another resource, and no request": {spec: corev1.PodSpec{Resources: &corev1.ResourceRequirements{Limits: cpu("4")}, Containers: []corev1.Container{requesting("1")}}, want: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			got := OfPod(&corev1.Pod{Spec: c.spec, Status: c.status})[corev1.ResourceCPU]
			if want := resource.MustParse(c.want); got.Cmp(want) != 0 {
				t.Errorf("requests %s, want %s", got.String(), c.want)
			}
		})
	}
}
