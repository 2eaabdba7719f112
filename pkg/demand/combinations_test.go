// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"math"
	"slices"
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// choosing returns a choice between two dimensions, with the same amount of either.
func choosing(pods, each int64) Choice {
	return Choice{Pods: pods, Alternatives: []ledger.Amounts{
		{{Dimension: 0, Amount: ledger.Units(each)}}, {{Dimension: 1, Amount: ledger.Units(each)}},
	}}
}

// The counted work is the allocations of each combination. There are 2^40 combinations before the last choices.
func TestCombinationsThatCannotBeCountedAreTriedRarely(t *testing.T) {
	for name, last := range map[string][]Choice{
		"the sum of several choices is too much": slices.Repeat([]Choice{choosing(math.MaxInt32, math.MaxInt64)}, 32),
		"a choice alone is too much":             {choosing(math.MaxInt64, math.MaxInt64)},
	} {
		t.Run(name, func(t *testing.T) {
			needs := Needs{Choices: append(slices.Repeat([]Choice{choosing(1, 1)}, 40), last...)}
			work := testing.AllocsPerRun(1, func() {
				if needs.AnyCombination(func(ledger.Amounts) bool { return true }) {
					t.Error("some combination is accepted")
				}
			})
			if most := float64(8 * maxCombinations * len(needs.Choices)); work > most {
				t.Errorf("%.0f allocations, want at most %.0f", work, most)
			}
		})
	}
}

func TestEachCombinationIsTriedByItself(t *testing.T) {
	needs := Needs{Amounts: ledger.Amounts{{Dimension: 0, Amount: ledger.Units(1)}, {Dimension: 1, Amount: ledger.Units(1)}}, Choices: []Choice{choosing(1, 1)}}
	if !needs.AnyCombination(func(as ledger.Amounts) bool { return as.Of(0) == ledger.Units(1) && as.Of(1) == ledger.Units(2) }) {
		t.Error("the second alternative is not tried without the first")
	}
	if needs.Amounts.Of(0) != ledger.Units(1) {
		t.Errorf("the needs have changed to %v", needs.Amounts)
	}
}

// The charge may be bytes of a capacity, in the billions.
func TestWhatPodsHaveChosenIsTakenAtOnce(t *testing.T) {
	choices := []Choice{{Pods: math.MaxInt32, Alternatives: []ledger.Amounts{nil, {{Dimension: 0, Amount: ledger.Units(2)}}}}}
	var rest []Choice
	work := testing.AllocsPerRun(1, func() {
		rest = withoutCharged(choices, ledger.Amounts{{Dimension: 0, Amount: ledger.Units(2*100_000 + 1)}})
	})
	if work > 100 {
		t.Errorf("%.0f allocations, want at most 100", work)
	}
	if len(rest) != 1 || rest[0].Pods != math.MaxInt32-100_000 {
		t.Errorf("%v remains to be chosen", rest)
	}
}
