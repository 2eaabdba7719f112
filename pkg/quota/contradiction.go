// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Contradiction is a number in a list of limits of a queue that is more than another list of the queue allows.
type Contradiction struct {
	Dimension ledger.Ordinal
	// More is the list that has Number. Bound is the one that has Limit, which is less.
	More, Bound   string
	Number, Limit ledger.Amount
}

// ContradictionOfCards returns the first contradiction among the limits of cards in the annotations of a queue, which the lists are called by; false if
// there is none. A card that one of the annotations does not list does not contradict the others.
func ContradictionOfCards(cards Limits) (Contradiction, bool) {
	return contradiction(&cards, CardAnnotations)
}

// ContradictionOfDevices returns the first contradiction among limits of devices, in lists that are called by their fields; false if there is none. In
// spec.dra, the API server refuses it. In the form of Volcano 1.15, nobody does.
func ContradictionOfDevices(devices Limits) (Contradiction, bool) {
	return contradiction(&devices, [...]string{"capability", "deserved", "guarantee"})
}

// contradiction finds that a queue deserves more than its capability, or is guaranteed more than either.
func contradiction(limits *Limits, names [3]string) (Contradiction, bool) {
	for _, pair := range []struct {
		more, bound     string
		numbers, limits ledger.Amounts
	}{
		{names[1], names[0], limits.Deserved, limits.Capability},
		{names[2], names[1], limits.Guarantee, limits.Deserved},
		{names[2], names[0], limits.Guarantee, limits.Capability},
	} {
		for _, e := range pair.numbers {
			i, listed := slices.BinarySearchFunc(pair.limits, e, byDimension)
			if listed && e.Amount.Cmp(pair.limits[i].Amount) > 0 {
				return Contradiction{Dimension: e.Dimension, More: pair.more, Bound: pair.bound, Number: e.Amount, Limit: pair.limits[i].Amount}, true
			}
		}
	}
	return Contradiction{}, false
}
