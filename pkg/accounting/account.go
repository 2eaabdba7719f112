// SPDX-License-Identifier: Apache-2.0

package accounting

import (
	"sync"
	"time"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Lag is how far the record stays behind the last session, so that what has begun or ended by then is known: what the API server
// says takes some time to arrive.
const Lag = 10 * time.Second

// interval is the time between two complete observations. It is not longer than Lag, so that no increment has a time that was not
// observed in full.
const interval = Lag

// Account knows who holds what now, and what must still be added to the record. Sessions observe, and the writer of the record
// cuts, at the same time.
type Account struct {
	period Period

	mu sync.Mutex
	// through is up to when everything has been cut. It is meaningless before Resume.
	through int64
	// resumed says that through is known, fresh that nothing has been observed since then.
	resumed, fresh bool
	// observed is when the last session ended, and complete when the last one ended that said everything.
	observed, complete int64
	session            uint64
	// dimensions are those of the last session.
	dimensions *ledger.Dimensions
	// held has who holds something, and states what is idle or waited for.
	held   map[Key]*holding
	states map[Series]*state
	// ended has what ended or changed, and has not been cut.
	ended []span
	// heldUntil has when a holder that is gone held something last, until that has been cut.
	heldUntil map[Key]int64
}

// Key identifies what is held: the UID of a pod for its cards, or of a claim for its devices.
type Key string

// holding is what a queue is charged for a holder, since the last change or cut.
type holding struct {
	queue, label   string
	namespace, pod string
	amounts        ledger.Amounts
	charges        []charge
	from           int64
	session        uint64
}

// state is an amount that is idle or waited for.
type state struct {
	amount  ledger.Amount
	from    int64
	session uint64
}

type charge struct {
	series Series
	amount ledger.Amount
}

// span is what was held for a time.
type span struct {
	charges  []charge
	from, to int64
}

// New returns an account that observes nothing until it is resumed.
func New(period Period) *Account { return &Account{period: period} }

// Resume makes the account go on where the record ends. It forgets what has been observed before.
func (a *Account) Resume(through time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.through, a.resumed, a.fresh = through.Unix(), true, true
	a.held, a.states, a.heldUntil, a.ended = map[Key]*holding{}, map[Series]*state{}, map[Key]int64{}, nil
}

// Increment is what has to be added to the record so that it is complete up to Through. All of it belongs to one period.
type Increment struct {
	// Start and End are those of the period.
	Start, End time.Time
	// Through is in the period, or its end.
	Through time.Time
	Added   Sums
}

// Cut returns what the record lacks, nil if it lacks nothing yet. It stays behind the last session by a lag. The caller owns it and must write it before the next one: the
// account forgets it. There may be more than one, because an increment does not go beyond the end of a period.
func (a *Account) Cut(lag time.Duration) *Increment {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.resumed || a.fresh {
		return nil
	}
	begun := time.Unix(a.through, 0)
	to := min(a.observed-int64(lag/time.Second), a.period.End(begun).Unix())
	if to <= a.through {
		return nil
	}
	added := a.cut(to)
	return &Increment{Start: a.period.Start(begun), End: a.period.End(begun), Through: time.Unix(to, 0).UTC(), Added: added}
}

func (a *Account) cut(to int64) Sums {
	added := Sums{}
	for _, h := range a.held {
		added.addCharges(h.charges, to-h.from)
		h.from = max(h.from, to)
	}
	for series, s := range a.states {
		added.addTime(series, s.amount, to-s.from)
		s.from = max(s.from, to)
	}
	left := a.ended[:0]
	for _, s := range a.ended {
		added.addCharges(s.charges, min(s.to, to)-s.from)
		if s.from = max(s.from, to); s.from < s.to {
			left = append(left, s)
		}
	}
	clear(a.ended[len(left):])
	a.ended = left
	for key, until := range a.heldUntil {
		if until <= to {
			delete(a.heldUntil, key)
		}
	}
	a.through = to
	return added
}

func (s Sums) addCharges(charges []charge, seconds int64) {
	for _, c := range charges {
		s.addTime(c.series, c.amount, seconds)
	}
}
