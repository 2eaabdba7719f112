// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestWhichQuantitiesCanBeCounted(t *testing.T) {
	for quantity, want := range map[string]bool{
		"0": true, "1m": true, "1e-9": true, "100": true, "4Pi": true, "9007199254740992": true,
		"8Pi": true, "9Pi": false, "4Ei": false, "8Ei": false, "9223372036854775807": false, "99E": false, "1e30": false, "1e999999999": false,
	} {
		if got := Countable(resource.MustParse(quantity)); got != want {
			t.Errorf("%s: %t, want %t", quantity, got, want)
		}
	}
}

func TestAPodIsRefusedIfItsRequestsCannotBeCounted(t *testing.T) {
	const huge = "4Ei"
	for name, spec := range map[string]corev1.PodSpec{
		"a container":                 {Containers: []corev1.Container{requesting("1"), requesting(huge)}},
		"an init container":           {InitContainers: []corev1.Container{requesting(huge)}},
		"a limit, which is defaulted": {Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: cpu(huge)}}}},
		"the pod as a whole":          {Resources: &corev1.ResourceRequirements{Requests: cpu(huge)}},
		"the overhead":                {Overhead: cpu(huge)},
	} {
		const want = "it requests <4Ei> of cpu, which is more than can be counted: request less"
		if err := CheckPod(&spec); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if err := CheckPod(&corev1.PodSpec{Containers: []corev1.Container{requesting("1")}}); err != nil {
		t.Error(err)
	}
}

func TestBoundedKeepsWhatCanBeCounted(t *testing.T) {
	list := corev1.ResourceList{"cpu": resource.MustParse("4Ei"), "memory": resource.MustParse("1Gi")}
	bounded := Bounded(list)
	if cpu := bounded["cpu"]; cpu.MilliValue() != largest*1000 {
		t.Errorf("cpu is %s", cpu.String())
	}
	if memory := bounded["memory"]; memory.String() != "1Gi" {
		t.Errorf("memory is %s", memory.String())
	}
	if cpu := list["cpu"]; cpu.String() != "4Ei" {
		t.Error("the list has changed")
	}
}

func TestValuesAreInTheUnitsOfVolcano(t *testing.T) {
	for _, c := range []struct {
		name     corev1.ResourceName
		quantity string
		want     float64
	}{
		{"cpu", "1500m", 1500}, {"memory", "1Gi", 1 << 30}, {"pods", "3", 3}, {"hugepages-2Mi", "4Mi", 4 << 20 * 1000},
		{"cpu", "4Ei", 1 << 62 * 1000.}, {"memory", "99E", 99e18},
	} {
		if got := Value(c.name, resource.MustParse(c.quantity)); got != c.want {
			t.Errorf("%s of %s is %g, want %g", c.quantity, c.name, got, c.want)
		}
	}
}
