// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// largest is the largest quantity that can be counted, in cores, bytes or pieces. It is more than any node has. Volcano and the kubelet count
// most resources in thousandths as int64. From 2^63 thousandths on, their results are wrong: 4Ei cores count as none. Above 2^53, Volcano's
// float64 is not exact.
const largest = 1 << 53

// Countable reports whether a quantity can be counted. It does not compare exactly, because exact arithmetic with a quantity such
// as 1e999999999, which the API server accepts, takes minutes.
func Countable(quantity resource.Quantity) bool { return quantity.AsApproximateFloat64() <= largest }

// UncountableError says that a request is too large to count.
type UncountableError struct {
	Resource corev1.ResourceName
	Quantity resource.Quantity
}

func (e *UncountableError) Error() string {
	return fmt.Sprintf("it requests <%s> of %s, which is more than can be counted: request less", e.Quantity.String(), e.Resource)
}

// Check returns an UncountableError for the first request, by name of the resource, that cannot be counted.
func Check(requests corev1.ResourceList) error {
	var first *UncountableError
	for name, quantity := range requests {
		if !Countable(quantity) && (first == nil || name < first.Resource) {
			first = &UncountableError{Resource: name, Quantity: quantity}
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// CheckPod is Check for all requests of a pod. It includes limits, because they may become requests.
func CheckPod(spec *corev1.PodSpec) error {
	err := Check(spec.Overhead)
	if spec.Resources != nil {
		err = cmp.Or(err, checkBoth(spec.Resources))
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			err = cmp.Or(err, checkBoth(&containers[i].Resources))
		}
	}
	return err
}

func checkBoth(of *corev1.ResourceRequirements) error {
	return cmp.Or(Check(of.Requests), Check(of.Limits))
}

// boundedPod returns a copy of a spec in which all requests and limits can be counted.
func boundedPod(spec *corev1.PodSpec) *corev1.PodSpec {
	copied := *spec
	copied.Overhead, copied.Resources = Bounded(spec.Overhead), spec.Resources.DeepCopy()
	if copied.Resources != nil {
		bind(copied.Resources)
	}
	copied.InitContainers, copied.Containers = slices.Clone(spec.InitContainers), slices.Clone(spec.Containers)
	for _, containers := range [][]corev1.Container{copied.InitContainers, copied.Containers} {
		for i := range containers {
			bind(&containers[i].Resources)
		}
	}
	return &copied
}

func bind(resources *corev1.ResourceRequirements) {
	resources.Requests, resources.Limits = Bounded(resources.Requests), Bounded(resources.Limits)
}

// Bounded returns the list with every uncountable quantity replaced by the largest countable one. It does not change the list itself.
func Bounded(list corev1.ResourceList) corev1.ResourceList {
	if Check(list) == nil {
		return list
	}
	bounded := maps.Clone(list)
	for name, quantity := range bounded {
		if !Countable(quantity) {
			bounded[name] = *resource.NewQuantity(largest, quantity.Format)
		}
	}
	return bounded
}
