// SPDX-License-Identifier: Apache-2.0

package accounting

import (
	"slices"
	"time"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Holding is the charge of a queue for one holder.
type Holding struct {
	Key                     Key
	Queue, Namespace, Label string
	// Pod is the name of the pod if the holding ends with the pod. It is empty for a claim.
	Pod string
	// Amounts must not be changed.
	Amounts ledger.Amounts
	// Since is the begin of the holding. If it is zero, the holding begins with its first observation or, after a restart, at the end
	// of the record.
	Since time.Time
}

// Observation is the report of one session.
type Observation struct {
	account *Account
	now     int64
	// dimensions are the dimensions of the session.
	dimensions *ledger.Dimensions
	// Records reports whether a dimension counts. If it is nil, all dimensions count.
	Records func(ledger.Dimension) bool
	// seen is the number of holders in the session.
	seen int
}

// Due reports whether a session must make a complete observation. Other sessions report changes only.
func (a *Account) Due(now time.Time, dimensions *ledger.Dimensions) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	since := now.Unix() - a.complete
	return a.fresh || a.dimensions != dimensions || since < 0 || since >= int64(interval/time.Second)
}

// Observe records a complete observation. Ended returns the end of a holder that the session lacks, or the zero time for an end now.
// Observe does nothing before Resume. It calls both functions before it returns.
func (a *Account) Observe(now time.Time, dimensions *ledger.Dimensions, observe func(*Observation), ended func(key Key, namespace, pod string) time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.resumed {
		return
	}
	a.session++
	if a.dimensions != dimensions { // the known amounts have other ordinals
		for _, h := range a.held {
			h.amounts = nil
		}
		a.dimensions = dimensions
	}
	o := &Observation{account: a, now: now.Unix(), dimensions: dimensions}
	observe(o)
	if o.seen < len(a.held) {
		for key, h := range a.held {
			if h.session != a.session {
				o.end(key, h, ended(key, h.namespace, h.pod))
			}
		}
	}
	for series, s := range a.states {
		if s.session != a.session {
			o.keep(span{charges: []charge{{series, s.amount}}, from: s.from, to: o.now})
			delete(a.states, series)
		}
	}
	a.observed, a.complete, a.fresh = o.now, o.now, false
}

// ObserveChanges records the report of a session about some holders. Other holders and states continue. ObserveChanges does nothing if a
// complete observation is due.
func (a *Account) ObserveChanges(now time.Time, dimensions *ledger.Dimensions, observe func(*Observation)) {
	if a.Due(now, dimensions) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	o := &Observation{account: a, now: now.Unix(), dimensions: dimensions}
	observe(o)
	a.observed = max(a.observed, o.now)
}

// End ends a holder before the next complete observation, which would end it, too.
func (a *Account) End(key Key, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if h := a.held[key]; h != nil {
		o := &Observation{account: a, now: at.Unix()}
		o.end(key, h, at)
	}
}

// Continues reports whether a holder is unchanged since the last session, and records this. If it returns false, it records nothing, and
// the caller must call Hold.
func (o *Observation) Continues(key Key, queue, label string, amounts ledger.Amounts) bool {
	h := o.account.held[key]
	if h == nil || h.queue != queue || h.label != label || h.amounts == nil || !slices.Equal(h.amounts, amounts) {
		return false
	}
	o.see(h)
	return true
}

// Hold records a holding. A changed holder has it from now on, and a new holder since the begin that it names.
func (o *Observation) Hold(h Holding) {
	a := o.account
	from := o.from(&h)
	if last := a.held[h.Key]; last != nil {
		from = max(o.now, last.from)
		o.keep(span{charges: last.charges, from: last.from, to: from})
	}
	now := &holding{queue: h.Queue, label: h.Label, namespace: h.Namespace, pod: h.Pod, amounts: h.Amounts, charges: o.charges(&h), from: from}
	if last := a.held[h.Key]; last != nil {
		now.session = last.session
	}
	a.held[h.Key] = now
	o.see(now)
}

func (o *Observation) see(h *holding) {
	if h.session != o.account.session {
		h.session = o.account.session
		o.seen++
	}
}

// from returns the begin of a new holder. The record has all usage before the end of the record.
func (o *Observation) from(h *Holding) int64 {
	a := o.account
	switch {
	case !h.Since.IsZero():
		return max(h.Since.Unix(), a.through, a.heldUntil[h.Key])
	case a.fresh:
		return a.through
	default:
		return max(o.now, a.through)
	}
}

func (o *Observation) charges(h *Holding) []charge {
	charges := make([]charge, 0, len(h.Amounts))
	for _, e := range h.Amounts {
		if dimension := o.dimensions.Dimension(e.Dimension); o.Records == nil || o.Records(dimension) {
			charges = append(charges, charge{Series{Measure: Used, Queue: h.Queue, Dimension: dimension, Namespace: h.Namespace, Label: h.Label}, e.Amount})
		}
	}
	return charges
}

// State records an amount that is idle or waited for. It ignores an amount that is not positive.
func (o *Observation) State(measure Measure, queue string, dimension ledger.Dimension, amount ledger.Amount) {
	if amount.Sign() <= 0 {
		return
	}
	a, series := o.account, Series{Measure: measure, Queue: queue, Dimension: dimension}
	last := a.states[series]
	if last == nil {
		a.states[series] = &state{amount: amount, from: max(o.now, a.through), session: a.session}
		return
	}
	last.session = a.session
	if last.amount != amount {
		o.keep(span{charges: []charge{{series, last.amount}}, from: last.from, to: o.now})
		last.amount, last.from = amount, max(last.from, o.now)
	}
}

// end ends a holder, now at the latest. Usage that was cut stays.
func (o *Observation) end(key Key, h *holding, at time.Time) {
	to := o.now
	if !at.IsZero() {
		to = min(to, at.Unix())
	}
	o.keep(span{charges: h.charges, from: h.from, to: to})
	o.account.heldUntil[key] = max(to, h.from)
	delete(o.account.held, key)
}

func (o *Observation) keep(s span) {
	if s.from < s.to {
		o.account.ended = append(o.account.ended, s)
	}
}
