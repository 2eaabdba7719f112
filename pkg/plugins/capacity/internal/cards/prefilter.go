// SPDX-License-Identifier: Apache-2.0

package cards

import (
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// State has, for each request of a pod and each possible card, why the quota forbids the card, nil if it does not. A
// nil State means that no queue limits the cards of the pod.
type State [][]*ledger.Refusal

// PreFilter asks the ledger about each card of a pod, so Filter need not ask for each node.
func PreFilter(books *ledger.Ledger, pod *demand.Pod) (State, error) {
	state := make(State, len(pod.Cards.Requests))
	for i, r := range pod.Cards.Requests {
		state[i] = make([]*ledger.Refusal, len(r.Among))
		for j := range r.Among {
			part := ledger.NewPart(ledger.Amounts{{Dimension: r.Among[j].Ordinal, Amount: ledger.Units(r.Count)}})
			refusal, err := books.Fits(pod.Queue, append(pod.Checked[:len(pod.Checked):len(pod.Checked)], part))
			if err != nil {
				return nil, err
			}
			state[i][j] = refusal
		}
	}
	return state, nil
}

// Explain returns the refusal to report for a pod that may choose among cards, and the names of the other cards, which
// have no quota either. It prefers a card that the queue may use at all. If the quota does not refuse all cards of a
// request, it returns the given refusal.
func (s State) Explain(pod *demand.Pod, refused *ledger.Refusal) (*ledger.Refusal, []string) {
	if refused.Dimension.Kind != ledger.Card || s == nil || pod.Cards.Assigned() {
		return refused, nil
	}
	for i, r := range pod.Cards.Requests {
		if best := s.best(i); best != nil && len(r.Among) > 1 {
			var others []string
			for _, among := range r.Among {
				if among.Name != best.Dimension.Name {
					others = append(others, among.Name)
				}
			}
			return best, others
		}
	}
	return refused, nil
}

// Partly returns, for a pod that may choose among cards, the first refusal of the quota and the names of the allowed cards.
// The refusal is nil if the quota allows all cards of a request, or none.
func (s State) Partly(pod *demand.Pod) (*ledger.Refusal, []string) {
	for i, refusals := range s {
		var first *ledger.Refusal
		var allowed []string
		for j, refusal := range refusals {
			if refusal == nil {
				allowed = append(allowed, pod.Cards.Requests[i].Among[j].Name)
			} else if first == nil {
				first = refusal
			}
		}
		if first != nil && len(allowed) > 0 {
			return first, allowed
		}
	}
	return nil, nil
}

// best returns the refusal of the first card that the queue may use at all, or else the first refusal. It is nil if the quota allows a card, or
// refuses a dimension other than a card.
func (s State) best(request int) *ledger.Refusal {
	var best *ledger.Refusal
	for _, refusal := range s[request] {
		if refusal == nil || refusal.Dimension.Kind != ledger.Card {
			return nil
		}
		if best == nil || !mayUseAny(best) && mayUseAny(refusal) {
			best = refusal
		}
	}
	return best
}

// mayUseAny reports whether the queue that refused may use any of the requested dimension.
func mayUseAny(refusal *ledger.Refusal) bool { return refusal.Limit.Cmp(refusal.Guaranteed) > 0 }
