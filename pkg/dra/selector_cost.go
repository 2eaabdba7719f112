// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"regexp"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
)

const (
	// ordinaryLength is how long the selectors of a pod's claims may be together before they cost anything, and lengthOfUnit how much of the
	// rest is evaluated for one device in the time of a unit.
	ordinaryLength = 4000
	lengthOfUnit   = 100
	// leastForSlow is what a search with slow selectors has for itself before it begins: nothing interrupts it before it has spent that.
	leastForSlow = budgetOfJob / 2
)

// iterating matches all selectors in which something may be repeated, and some others. The time that any other selector takes depends on its length.
var iterating = regexp.MustCompile(`all|exists|map|filter|transform|bind|sort|range|flatten`)

// iterates reports whether selectors in claims may iterate. Those of classes are written by administrators.
func iterates(claims []*resourceapi.ResourceClaim) bool {
	return slices.ContainsFunc(selectorsOf(claims), iterating.MatchString)
}

// isSlow reports whether it may take long to compile a selector, or to evaluate it for one device. Nothing interrupts the one, nor the other if
// something is repeated within something that is repeated: an interrupted repetition does not end the one around it.
func isSlow(claims []*resourceapi.ResourceClaim) bool {
	return lengthOf(claims) > ordinaryLength || slices.ContainsFunc(selectorsOf(claims), func(expression string) bool {
		return len(iterating.FindAllString(expression, 2)) > 1
	})
}

// lengthOf is how long the selectors in claims are together.
func lengthOf(claims []*resourceapi.ResourceClaim) int {
	n := 0
	for _, expression := range selectorsOf(claims) {
		n += len(expression)
	}
	return n
}

func selectorsOf(claims []*resourceapi.ResourceClaim) []string {
	var all []string
	for _, claim := range claims {
		for i := range claim.Spec.Devices.Requests {
			request := &claim.Spec.Devices.Requests[i]
			if request.Exactly != nil {
				all = append(all, expressionsOf(request.Exactly.Selectors)...)
			}
			for j := range request.FirstAvailable {
				all = append(all, expressionsOf(request.FirstAvailable[j].Selectors)...)
			}
		}
	}
	return all
}
