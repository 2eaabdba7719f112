// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// maxCombinations bounds how many combinations of alternatives are tried for a job.
const maxCombinations = 64

// AnyCombination reports whether what a job needs is accepted with some combination of its alternatives. All pods that choose among the
// same alternatives take the same one. Combinations that cannot be counted are left out, but count as tried: users write the numbers, so that
// there may be any number of such combinations before the first that can be counted.
func (n *Needs) AnyCombination(accepts func(ledger.Amounts) bool) bool {
	tries := maxCombinations
	return anyCombination(n.Amounts, n.options(), &tries, accepts)
}

// options returns, for each choice, what all pods that choose come to if they take the same alternative.
func (n *Needs) options() [][]ledger.Amounts {
	var all [][]ledger.Amounts
	for _, choice := range n.Choices {
		var options []ledger.Amounts
		for _, alternative := range choice.Alternatives {
			if total, err := alternative.Times(choice.Pods); err == nil {
				options = append(options, total)
			}
		}
		all = append(all, options)
	}
	for _, split := range n.Splits {
		var options []ledger.Amounts
		for _, o := range split.Among {
			each := ledger.Amounts{{Dimension: o, Amount: ledger.Units(split.Each)}}
			if total, err := each.Times(split.Shares); err == nil {
				options = append(options, total)
			}
		}
		all = append(all, options)
	}
	return all
}

func anyCombination(amounts ledger.Amounts, choices [][]ledger.Amounts, tries *int, accepts func(ledger.Amounts) bool) bool {
	if len(choices) == 0 {
		*tries--
		return accepts(amounts)
	}
	if len(choices[0]) == 0 {
		*tries--
	}
	for _, option := range choices[0] {
		if *tries <= 0 {
			return false
		}
		total, err := slices.Clone(amounts).PlusAll(option) // the other options are added to the same amounts
		if err != nil {
			*tries--
			continue
		}
		if anyCombination(total, choices[1:], tries, accepts) {
			return true
		}
	}
	return false
}
