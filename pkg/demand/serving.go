// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Serving says who serves the extended resources that DeviceClasses offer (KEP-5004). The zero value says that no class
// offers any.
type Serving struct {
	// Class returns the DeviceClass that offers a resource, empty for none. Nil means none for all.
	Class func(corev1.ResourceName) string
	// ByDevices has the sets of resources that DRA serves together on some node, each sorted.
	ByDevices [][]corev1.ResourceName
	// ByPlugins has the resources that device plugins serve on some node.
	ByPlugins map[corev1.ResourceName]bool
}

// class returns the DeviceClass that offers a resource, empty for none.
func (s *Serving) class(name corev1.ResourceName) string {
	if s.Class == nil {
		return ""
	}
	return s.Class(name)
}

// sets returns, for a pod that requests these resources, which of them DRA may serve on the pod's node: one set for each
// kind of node that may have them all, the largest first, and the empty set for nodes where device plugins serve all. If no
// node may have them all, it is as if DRA served them, so that people hear what is missing of the class.
func (s *Serving) sets(names []corev1.ResourceName) [][]corev1.ResourceName {
	var sets [][]corev1.ResourceName
	add := func(served []corev1.ResourceName) {
		for _, name := range names {
			if !slices.Contains(served, name) && !s.ByPlugins[name] {
				return
			}
		}
		if !slices.ContainsFunc(sets, func(known []corev1.ResourceName) bool { return slices.Equal(known, served) }) {
			sets = append(sets, served)
		}
	}
	add(nil)
	for _, served := range s.ByDevices {
		add(among(names, served))
	}
	if len(sets) == 0 {
		return [][]corev1.ResourceName{names}
	}
	slices.SortFunc(sets, func(a, b []corev1.ResourceName) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return slices.Compare(a, b)
	})
	return sets
}

// among returns those of the names that are served, in their order.
func among(names, served []corev1.ResourceName) []corev1.ResourceName {
	var both []corev1.ResourceName
	for _, name := range names {
		if slices.Contains(served, name) {
			both = append(both, name)
		}
	}
	return both
}
