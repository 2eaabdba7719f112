// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Contradiction is a limit of a queue that exceeds what another list of the same queue allows.
type Contradiction struct {
	Dimension ledger.Ordinal
	// More is the list that contains Number. Bound is the list that contains Limit, which is smaller.
	More, Bound   string
	Number, Limit ledger.Amount
}

// ContradictionOfCards returns the first contradiction among the card limits of a queue, or false. It calls the lists by their annotations. A card
// that an annotation does not list does not contradict the others.
func ContradictionOfCards(cards Limits) (Contradiction, bool) {
	return contradiction(&cards, CardAnnotations)
}

// ContradictionOfDevices returns the first contradiction among the device limits of a queue, or false. It calls the lists by their fields. The API
// server refuses contradictions in spec.dra, but not in the form of Volcano 1.15.
func ContradictionOfDevices(devices Limits) (Contradiction, bool) {
	return contradiction(&devices, [...]string{"capability", "deserved", "guarantee"})
}

// contradiction returns a deserved amount above the capability, or a guarantee above either.
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
