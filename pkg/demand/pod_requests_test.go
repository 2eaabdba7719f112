// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/card"
)

// TestAPodIsChargedWhatItRequestsBesideItsContainers uses the values of Volcano, which counts only containers.
func TestAPodIsChargedWhatItRequestsBesideItsContainers(t *testing.T) {
	whole := &corev1.ResourceRequirements{Requests: resourceList("cpu=4 memory=1Gi hugepages-2Mi=4Mi")}
	for name, c := range map[string]struct {
		spec   corev1.PodSpec
		values Values
		want   string
	}{
		"the pod as a whole": {
			spec: corev1.PodSpec{Resources: whole}, values: Values{Scalars: map[corev1.ResourceName]float64{"pods": 1}},
			want: "cpu:4 hugepages-2Mi:4MiB memory:1GiB pods:1",
		},
		"the pod as a whole, and an extended resource of a container": {
			spec:   corev1.PodSpec{Resources: whole, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: resourceList("cpu=1 nvidia.com/gpu=2")}}}},
			values: Values{MilliCPU: 1000, Scalars: map[corev1.ResourceName]float64{"pods": 1, "nvidia.com/gpu": 2000}},
			want:   "cpu:4 hugepages-2Mi:4MiB memory:1GiB nvidia.com/gpu:2 pods:1",
		},
		"the overhead on top of an init container": {
			spec:   corev1.PodSpec{Overhead: resourceList("cpu=500m"), InitContainers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: resourceList("cpu=4")}}}},
			values: Values{MilliCPU: 4000, Scalars: map[corev1.ResourceName]float64{"pods": 1}},
			want:   "cpu:4.5 pods:1",
		},
		"what Volcano adds for volumes stays": {
			spec: corev1.PodSpec{Resources: whole}, values: Values{Scalars: map[corev1.ResourceName]float64{"pods": 1, "attachable-volumes-csi-ebs": 1000}},
			want: "attachable-volumes-csi-ebs:1 cpu:4 hugepages-2Mi:4MiB memory:1GiB pods:1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			counter := NewCounter(&card.Fleet{}, func(corev1.ResourceName) bool { return false })
			for _, known := range []corev1.ResourceName{"hugepages-2Mi", "nvidia.com/gpu", "attachable-volumes-csi-ebs"} {
				counter.Resources.of(known)
			}
			pod, err := counter.Add(&corev1.Pod{Spec: c.spec}, c.values, nil)
			if got := text(counter.Dimensions, pod.Resources.Amounts()); got != c.want || err != nil {
				t.Errorf("charged %q (%v), want %q", got, err, c.want)
			}
		})
	}
}

func TestAPodWhoseRequestsCannotBeCountedSaysSo(t *testing.T) {
	counter := NewCounter(&card.Fleet{}, func(corev1.ResourceName) bool { return false })
	huge := []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: resourceList("cpu=4Ei")}}}
	for name, spec := range map[string]corev1.PodSpec{
		"a container":        {Containers: huge},
		"the pod as a whole": {Resources: &corev1.ResourceRequirements{Requests: resourceList("cpu=4Ei")}},
	} {
		pod, err := counter.Add(&corev1.Pod{Spec: spec}, Values{Scalars: map[corev1.ResourceName]float64{"pods": 1}}, nil)
		counter.Begin(library{}, catalog())
		counter.Refresh(pod)
		if err == nil || !errors.Is(pod.Err, err) || err.Error() != "it requests <4Ei> of cpu, which is more than can be counted: request less" {
			t.Errorf("%s: %v, %v", name, err, pod.Err)
		}
	}
}
