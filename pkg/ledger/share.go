// SPDX-License-Identifier: Apache-2.0

package ledger

import "cmp"

// Share returns the allocated fraction of the queue's deserved amounts, in the dimension with the largest fraction. A
// queue that deserves nothing has a share of 1. It comes after all queues that have less than they deserve.
func (l *Ledger) Share(q QueueID) float64 {
	return l.shareOf(q, func(o Ordinal) Amount { return l.Balance(q, Allocated, o) })
}

// usedShare is Share of the used amounts. Comparisons of queues therefore count promised pods.
func (l *Ledger) usedShare(q QueueID) float64 {
	return l.shareOf(q, func(o Ordinal) Amount { return l.used(q, o) })
}

func (l *Ledger) shareOf(q QueueID, of func(Ordinal) Amount) float64 {
	if !l.Deserves(q) {
		return 1
	}
	share := 0.0
	for o, deserved := range l.queues[q].deserved {
		if deserved.Amount.Sign() > 0 {
			share = max(share, of(Ordinal(o)).float()/deserved.Amount.float())
		}
	}
	return share
}

// Deserves reports whether the queue deserves a positive amount of any dimension.
func (l *Ledger) Deserves(q QueueID) bool {
	for o, deserved := range l.queues[q].deserved {
		if deserved.Amount.Sign() > 0 && !l.dimensions.names[o].uncapped() {
			return true
		}
	}
	return false
}

// CompareShare returns a negative number if queue a comes before queue b. The queue with the smaller share comes first.
// If the shares are equal, a queue that deserves something comes first.
func (l *Ledger) CompareShare(a, b QueueID) int {
	if c := cmp.Compare(l.usedShare(a), l.usedShare(b)); c != 0 {
		return c
	}
	switch deserves := l.Deserves(a); {
	case deserves == l.Deserves(b):
		return 0
	case deserves:
		return -1
	default:
		return 1
	}
}
