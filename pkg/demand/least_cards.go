// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"math"
	"slices"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Least is the cards that a number of pods need together: amounts for requests without a choice, and splits for requests with a choice.
type Least struct {
	Amounts ledger.Amounts
	Splits  []ledger.Split
}

// ErrTooManySplits says that pods choose among cards in too many different ways. A waiting job divides its cards among these ways in every
// cycle, and a job may have a thousand tasks.
var ErrTooManySplits = fmt.Errorf("its pods choose among cards in more than %d different ways, by their numbers and the cards that they name: ask for fewer kinds of cards in one job", card.MaxRequests)

// Add adds the cards of a number of pods with the same demand. The error is ledger.ErrOverflow or ErrTooManySplits.
func (l *Least) Add(c *Cards, pods int64) error {
	for _, r := range c.Requests {
		if err := l.add(r.Among, pods, r.Count); err != nil {
			return err
		}
	}
	return nil
}

func (l *Least) add(among []Card, shares, each int64) error {
	if len(among) == 0 {
		return nil // the pods wait and report that the card is unknown
	}
	if len(among) == 1 {
		amount, err := ledger.Units(each).Times(shares)
		if err == nil {
			l.Amounts, err = l.Amounts.Plus(among[0].Ordinal, amount)
		}
		return err
	}
	split := ledger.Split{Shares: shares, Each: each}
	for _, c := range among {
		split.Among = append(split.Among, c.Ordinal)
	}
	for i := range l.Splits {
		if s := &l.Splits[i]; s.Each == each && slices.Equal(s.Among, split.Among) {
			if s.Shares > math.MaxInt64-shares {
				return ledger.ErrOverflow
			}
			s.Shares += shares
			return nil
		}
	}
	if len(l.Splits) >= card.MaxRequests {
		return ErrTooManySplits
	}
	l.Splits = append(l.Splits, split)
	return nil
}

// Empty reports whether no cards are needed.
func (l *Least) Empty() bool {
	return len(l.Amounts) == 0 && len(l.Splits) == 0
}

// Without returns the remainder after some amounts are charged.
func (l *Least) Without(charged ledger.Amounts) Least {
	rest := Least{Amounts: l.Amounts.Beyond(charged, nil)}
	spare := charged.Beyond(l.Amounts, nil)
	for _, s := range l.Splits {
		for i := range spare {
			if !slices.Contains(s.Among, spare[i].Dimension) {
				continue
			}
			covered := spare[i].Amount.Shares(s.Each, s.Shares)
			if taken, err := ledger.Units(s.Each).Times(covered); err == nil {
				spare[i].Amount, _ = spare[i].Amount.Sub(taken)
				s.Shares -= covered
			}
		}
		if s.Shares > 0 {
			rest.Splits = append(rest.Splits, s)
		}
	}
	return rest
}

// OfCardRequest returns the cards of a job without pods, from the annotation volcano.sh/card.request of its PodGroup.
// Without the annotation, the result is empty. The error names the position of the mistake.
func OfCardRequest(annotations map[string]string, fleet *card.Fleet, dimensions *ledger.Dimensions) (Least, error) {
	text, carries := annotations[card.RequestAnnotation]
	if !carries {
		return Least{}, nil
	}
	requests, err := card.Requests(text)
	if err != nil {
		return Least{}, err
	}
	var least Least
	for i := range requests {
		if err := least.addRequest(&requests[i], fleet, dimensions); err != nil {
			return Least{}, fmt.Errorf("its annotation %s is wrong in %q: %w", card.RequestAnnotation, requests[i].Card, err)
		}
	}
	return least, nil
}

func (l *Least) addRequest(r *card.Request, fleet *card.Fleet, dimensions *ledger.Dimensions) error {
	if _, err := resourceOf(r.Among, fleet); err != nil || r.Count == 0 {
		return err
	}
	var among []Card
	for _, name := range r.Among {
		d := ledger.Dimension{Kind: ledger.Card, Name: name}
		// Do not intern other names, because they would stay in memory forever.
		if _, listed := dimensions.Known(d); listed || fleet.Known(name) {
			among = append(among, Card{name, dimensions.Ordinal(d)})
		}
	}
	return l.add(among, r.Count, 1)
}
