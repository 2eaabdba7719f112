// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Serving says how nodes serve the extended resources that DeviceClasses offer (KEP-5004). With the zero value, no class offers any.
type Serving struct {
	// Class returns the DeviceClass that offers a resource, or an empty name. A nil Class means that no class offers any resource.
	Class func(corev1.ResourceName) string
	// ByDevices lists the sets of resources that DRA serves together on some node, each sorted.
	ByDevices [][]corev1.ResourceName
	// ByPlugins holds the resources that device plugins serve on some node.
	ByPlugins map[corev1.ResourceName]bool
}

// same reports whether nodes serve the same. It does not compare the classes.
func (s *Serving) same(other *Serving) bool {
	return maps.Equal(s.ByPlugins, other.ByPlugins) && slices.EqualFunc(s.ByDevices, other.ByDevices, slices.Equal)
}

func (s *Serving) class(name corev1.ResourceName) string {
	if s.Class == nil {
		return ""
	}
	return s.Class(name)
}

// sets returns the sets of requested resources that DRA may serve together on a pod's node, largest first. There is one set
// per kind of node that can serve all requests. The empty set stands for nodes where device plugins serve everything. If no
// node can serve all requests, the only set contains all resources, so messages say what the class lacks.
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

// among returns the names that are served, in their order.
func among(names, served []corev1.ResourceName) []corev1.ResourceName {
	var both []corev1.ResourceName
	for _, name := range names {
		if slices.Contains(served, name) {
			both = append(both, name)
		}
	}
	return both
}
