// SPDX-License-Identifier: Apache-2.0

package eviction

import "k8s.io/apimachinery/pkg/types"

// sharing finds the units that share claims, directly or through others. Users can make chains of thousands of pods that each share a claim with
// the next.
type sharing struct {
	// with has, for each unit, an earlier unit that shares a claim with it, or the unit itself if there is none. It may be shorter than the list of
	// units.
	with []int
	// claims has one unit for each claim.
	claims map[types.UID]int
}

// add notes that a unit has a claim.
func (s *sharing) add(i int, claim types.UID) {
	for len(s.with) <= i {
		s.with = append(s.with, len(s.with))
	}
	other, shared := s.claims[claim]
	if !shared {
		s.claims[claim] = i
		return
	}
	a, b := s.first(i), s.first(other)
	s.with[max(a, b)] = min(a, b)
}

// first returns the first of the units that share claims with a unit.
func (s *sharing) first(i int) int {
	for s.with[i] != i {
		s.with[i] = s.with[s.with[i]] // shortens the path for later calls
		i = s.with[i]
	}
	return i
}
