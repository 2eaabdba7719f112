// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"errors"
	"testing"

	"github.com/devicequota/devicequota/pkg/card"
)

// Each session divides the cards of a queue among the ways. The cost grows at least with the square of their number.
func TestPodsOfAJobChooseAmongCardsInAFewWays(t *testing.T) {
	among := []Card{{Name: "a", Ordinal: 0}, {Name: "b", Ordinal: 1}}
	cards := func(count int64) *Cards { return &Cards{Requests: []CardRequest{{Count: count, Among: among}}} }
	var least Least
	for count := range int64(card.MaxRequests) {
		if err := least.Add(cards(count+1), 3); err != nil {
			t.Fatal(err)
		}
	}
	if err := least.Add(cards(card.MaxRequests+1), 3); !errors.Is(err, ErrTooManySplits) {
		t.Errorf("error %v in one way more, want %v", err, ErrTooManySplits)
	}
	if err := least.Add(cards(1), 3); err != nil || least.Splits[0].Shares != 6 {
		t.Errorf("error %v, splits %v: more pods that choose in a way that is known count there", err, least.Splits)
	}
	if len(least.Splits) != card.MaxRequests {
		t.Errorf("%d splits, want %d", len(least.Splits), card.MaxRequests)
	}
}
