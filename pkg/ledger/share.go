// SPDX-License-Identifier: Apache-2.0

package ledger

import "cmp"

// Share returns the fraction of its deserved amounts that the queue has allocated, in the dimension
// where that is largest: 1 is all of them. A queue that deserves nothing has a share of 1, so that
// it comes after all queues that have less than they deserve.
func (l *Ledger) Share(q QueueID) float64 {
	return l.shareOf(q, func(o Ordinal) Amount { return l.Balance(q, Allocated, o) })
}

// usedShare is Share of what the queue has used, so that pods that are only promised their place count
// when queues are compared.
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

// Deserves reports whether the queue deserves more than zero of any dimension.
func (l *Ledger) Deserves(q QueueID) bool {
	for o, deserved := range l.queues[q].deserved {
		if deserved.Amount.Sign() > 0 && !l.dimensions.names[o].uncapped() {
			return true
		}
	}
	return false
}

// CompareShare is negative if queue a comes before queue b: a has the smaller share or, if the shares
// are equal, a deserves something and b does not.
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
