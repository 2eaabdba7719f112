// SPDX-License-Identifier: Apache-2.0

package ledger

import "fmt"

// Account is a sum that each queue keeps in each dimension. It includes the sums of all descendants of the queue.
type Account uint8

const (
	// Allocated is what pods hold. Only charges and releases change it.
	Allocated Account = iota
	// Inqueue is what jobs that have entered the queue still need before they can run.
	Inqueue
	// Elastic is what jobs hold in addition to what they need to run.
	Elastic
	// Request is what pods hold or wait for, and what jobs without pods wait for. Nothing is decided by it.
	Request
	// Either is what pods and jobs wait for that accept other dimensions as well. Each of these dimensions has the full amount, and Request has
	// none of it. Nothing is decided by it.
	Either
	// Pipelined is what pods are promised that do not hold it yet, see [Ledger.Pipeline].
	Pipelined
	// Releasing is what only releasing pods hold, see [Ledger.Retain].
	Releasing

	accounts = 7
)

// charged is the account that holds the sum of Allocated and Pipelined. Checks need this sum.
const charged = Allocated

// String returns the name of the account.
func (a Account) String() string {
	return [accounts]string{"allocated", "inqueue", "elastic", "request", "either", "pipelined", "releasing"}[a]
}

// ofCharges reports whether only charges and releases change the account.
func (a Account) ofCharges() bool {
	return a == Allocated || a == Pipelined || a == Releasing
}

// cell identifies the account of a queue in one dimension.
type cell struct {
	queue     QueueID
	account   Account
	dimension Ordinal
}

// Balance returns the balance of an account of a queue, including its descendants. In the ledger that [Ledger.Held]
// returns, Allocated includes Releasing.
func (l *Ledger) Balance(q QueueID, account Account, o Ordinal) Amount {
	if account != Allocated {
		return l.balance(q, account, o)
	}
	allocated, _ := l.used(q, o).Sub(l.balance(q, Pipelined, o)) // Pipelined is part of the used amount
	return allocated
}

// Used returns how much of its limits a queue and its descendants use. This includes amounts promised to pods.
func (l *Ledger) Used(q QueueID, o Ordinal) Amount { return l.used(q, o) }

// used returns how much of its limits a queue and its descendants use. This includes amounts promised to pods.
func (l *Ledger) used(q QueueID, o Ordinal) Amount {
	sum := l.balance(q, charged, o)
	if l.held {
		sum, _ = sum.Add(l.balance(q, Releasing, o)) // charges have checked this sum
	}
	return sum
}

// balance returns the stored balance of an account.
func (l *Ledger) balance(q QueueID, account Account, o Ordinal) Amount {
	if l.overlay != nil {
		if a, changed := l.overlay.balances[cell{q, account, o}]; changed {
			return a
		}
	}
	if balances := l.queues[q].accounts[account]; int(o) < len(balances) {
		return balances[o]
	}
	return Amount{}
}

// Add adds amounts to an account of a queue and of its ancestors. The amounts must not be negative. On error, nothing
// changes. The error is ErrOverflow, ErrAllocated for an account that only charges change, or ErrView in a view.
//
// Of Inqueue, a queue adds to its parent at most what its limit leaves, if its parent's limit differs. A minimum that is raised
// after the job was admitted therefore does not keep from other queues what this queue cannot use. All of Allocated and Elastic
// must be added before.
func (l *Ledger) Add(q QueueID, account Account, as Amounts) error {
	if account.ofCharges() {
		return fmt.Errorf("%w %s", ErrAllocated, account)
	}
	if l.overlay != nil || l.held {
		return ErrView
	}
	for id := q; id != none; id = l.queues[id].parent {
		for _, e := range as {
			if _, err := l.balance(id, account, e.Dimension).Add(e.Amount); err != nil {
				return err
			}
		}
	}
	if account == Inqueue {
		l.addInqueue(q, as)
		return nil
	}
	l.shift(q, account, as, false)
	return nil
}

func (l *Ledger) addInqueue(q QueueID, as Amounts) {
	for _, e := range as {
		amount := e.Amount
		for id := q; id != none && amount.Sign() > 0; id = l.queues[id].parent {
			left, err := l.left(id, e.Dimension)
			sum, _ := l.balance(id, Inqueue, e.Dimension).Add(amount)
			l.setBalance(id, Inqueue, e.Dimension, sum)
			if err == nil && left.exceededBy(amount) {
				amount = larger(left.Amount, Amount{})
			}
		}
	}
}

// shift adds amounts to an account of the queue and its ancestors, or subtracts them. Callers check for overflow first.
func (l *Ledger) shift(q QueueID, account Account, as Amounts, negative bool) {
	for id := q; id != none; id = l.queues[id].parent {
		for _, e := range as {
			amount := e.Amount
			if negative {
				amount = amount.negated()
			}
			sum, _ := l.balance(id, account, e.Dimension).Add(amount)
			l.setBalance(id, account, e.Dimension, sum)
		}
	}
}

func (l *Ledger) setBalance(q QueueID, account Account, o Ordinal, a Amount) {
	if l.overlay != nil {
		l.overlay.setBalance(cell{q, account, o}, a)
		return
	}
	balances := &l.queues[q].accounts[account]
	*balances = grown(*balances, o)
	(*balances)[o] = a
}
