// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"iter"
	"math/bits"
	"slices"
)

// set is a set of units, as bits by rank. All sets of one search have the same length. Methods do not change their receiver.
type set []uint64

func newSet(units int) set { return make(set, (units+63)/64) }

func (s set) has(rank int) bool { return s[rank/64]>>(rank%64)&1 == 1 }

func (s set) with(rank int) set {
	s = slices.Clone(s)
	s[rank/64] |= 1 << (rank % 64)
	return s
}

func (s set) without(rank int) set {
	s = slices.Clone(s)
	s[rank/64] &^= 1 << (rank % 64)
	return s
}

func (s set) union(other set) set {
	s = slices.Clone(s)
	for i, word := range other {
		s[i] |= word
	}
	return s
}

// within reports whether every unit of s is in other.
func (s set) within(other set) bool {
	for i, word := range s {
		if word&^other[i] != 0 {
			return false
		}
	}
	return true
}

// countUnion returns the size of the union of s and other.
func (s set) countUnion(other set) int {
	count := 0
	for i, word := range s {
		count += bits.OnesCount64(word | other[i])
	}
	return count
}

// ranks yields the units in ascending order.
func (s set) ranks() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(64*i + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}
