// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// maxCombinations is the maximum number of combinations of alternatives to try for a job.
const maxCombinations = 64

// AnyCombination reports whether accepts returns true for the needs of a job with some combination of its alternatives. All pods with the
// same alternatives take the same one. AnyCombination skips combinations that cannot be counted, but they count as tries. Users write the
// numbers and could otherwise cause any number of tries.
func (n *Needs) AnyCombination(accepts func(ledger.Amounts) bool) bool {
	tries := maxCombinations
	return anyCombination(n.Amounts, n.options(), &tries, accepts)
}

// First returns the needs of a job with the first combination of its alternatives that can be counted.
func (n *Needs) First() ledger.Amounts {
	first := n.Amounts
	n.AnyCombination(func(needs ledger.Amounts) bool {
		first = needs
		return true
	})
	return first
}

// options returns, for each choice, the total of all choosing pods for each alternative.
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
		total, err := slices.Clone(amounts).PlusAll(option) // the clone keeps amounts for the other options
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
