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

// interval is the time between two complete observations. It is at most Lag, so an increment covers only time that was observed
// completely.
const interval = Lag

// Account knows the present holders, and the usage to add to the record. Sessions call Observe while the writer of the record calls
// Cut.
type Account struct {
	period Period

	mu sync.Mutex
	// through is the end of the time that was cut. It is meaningless before Resume.
	through int64
	// resumed reports whether through is known, and fresh whether nothing has been observed since.
	resumed, fresh bool
	// observed is the end of the last session, and complete the end of the last session with a complete observation.
	observed, complete int64
	session            uint64
	// dimensions are the dimensions of the last session.
	dimensions *ledger.Dimensions
	// held has the holders, and states the idle amounts and the amounts waited for.
	held   map[Key]*holding
	states map[Series]*state
	// ended has spans that ended and are not cut yet.
	ended []span
	// heldUntil has the ends of holders that are gone, until these ends are cut.
	heldUntil map[Key]int64
}

// Key identifies a holder: the UID of a pod with cards, or the UID of a claim with devices.
type Key string

// holding is the charge of a queue for a holder, since the last change or cut.
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

// span is the time for which charges were held.
type span struct {
	charges  []charge
	from, to int64
}

// New returns an account that observes nothing before Resume.
func New(period Period) *Account { return &Account{period: period} }

// Resume continues where the record ends. It forgets all earlier observations.
func (a *Account) Resume(through time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.through, a.resumed, a.fresh = through.Unix(), true, true
	a.held, a.states, a.heldUntil, a.ended = map[Key]*holding{}, map[Series]*state{}, map[Key]int64{}, nil
}

// Increment is the usage to add to the record to complete it up to Through. All of it belongs to one period.
type Increment struct {
	// Start and End are the bounds of the period.
	Start, End time.Time
	// Through is in the period, or its end.
	Through time.Time
	Added   Sums
}

// Cut returns the usage that the record lacks, or nil if it lacks nothing yet. It stops a lag before the last session. The account forgets the
// usage, so the caller must write it before the next Cut. An increment ends with its period at the latest, so there may be several of them.
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
