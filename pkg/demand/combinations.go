// SPDX-License-Identifier: Apache-2.0

package demand

import "github.com/devicequota/devicequota/pkg/ledger"

// maxCombinations bounds how many combinations of alternatives are tried for a job.
const maxCombinations = 64

// AnyCombination reports whether what a job needs is accepted with some combination of its alternatives. All pods that choose among the
// same alternatives take the same one. Combinations that cannot be counted are left out.
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
	for _, option := range choices[0] {
		total, err := amounts.PlusAll(option)
		if err == nil && *tries > 0 && anyCombination(total, choices[1:], tries, accepts) {
			return true
		}
	}
	return false
}
