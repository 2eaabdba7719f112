// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// Session observes who holds what in one session of the scheduler.
type Session struct {
	recorder *Recorder
	// ended is the number of endings noted before the snapshot was taken.
	ended int
}

// Open begins a session. Call it before the snapshot is taken.
func (r *Recorder) Open() Session { return Session{recorder: r, ended: r.endings.count()} }

// Observe tells the account who holds what at the end of the session: everything if that is due, otherwise only the changes, which
// costs next to nothing. promised returns what a pod is charged in place of claims that it does not pay for yet. A session that may lack holders
// reports nothing: missing holders would seem to have ended.
func (s *Session) Observe(taken *snapshot.Snapshot, promised func(*api.TaskInfo) ledger.Demand, mayLackHolders bool) {
	account := s.recorder.account
	if account == nil {
		return
	}
	for _, e := range s.recorder.endings.take(s.ended) {
		account.End(e.key, e.at)
	}
	s.ended = 0
	now, o := s.recorder.clock.Now(), &observer{recorder: s.recorder, snapshot: taken, promised: promised}
	switch {
	case mayLackHolders:
	case account.Due(now, taken.Dimensions):
		account.Observe(now, taken.Dimensions, o.everything, o.endOf)
	default:
		account.ObserveChanges(now, taken.Dimensions, o.changes)
	}
}

// observer tells an account the findings of one session.
type observer struct {
	*accounting.Observation
	recorder *Recorder
	snapshot *snapshot.Snapshot
	promised func(*api.TaskInfo) ledger.Demand
}

func (o *observer) everything(to *accounting.Observation) {
	o.begin(to)
	o.snapshot.EachHolding(o.promised, o.holding)
	o.states()
}

func (o *observer) changes(to *accounting.Observation) {
	o.begin(to)
	o.snapshot.EachChangedHolding(o.promised, o.holding)
}

func (o *observer) begin(to *accounting.Observation) {
	o.Observation, to.Records = to, o.recorder.records
}

// endOf returns when a pod that a session lacks ended, according to its containers. It is the zero time if unknown.
func (o *observer) endOf(key accounting.Key, namespace, name string) time.Time {
	if name == "" {
		return time.Time{}
	}
	pod, err := o.snapshot.Pods.Pods(namespace).Get(name)
	if err != nil || key != accounting.Key(pod.UID) && key != resourcesOf(pod) {
		return time.Time{}
	}
	return finished(pod)
}

// states tells which amounts are idle and which are waited for.
func (o *observer) states() {
	books := o.snapshot.Held()
	for _, info := range o.snapshot.Queues {
		queue, found := books.Queue(info.Name)
		if !found {
			continue
		}
		for ordinal := range ledger.Ordinal(o.snapshot.Dimensions.Len()) {
			dimension := o.snapshot.Dimensions.Dimension(ordinal)
			if !o.recorder.records(dimension) {
				continue
			}
			allocated := books.Balance(queue, ledger.Allocated, ordinal)
			if guarantee := books.Guarantee(queue, ordinal); guarantee.Set {
				o.State(accounting.GuaranteedIdle, info.Name, dimension, left(guarantee.Amount, allocated))
			}
			if books.Leaf(queue) {
				waited := left(books.Balance(queue, ledger.Request, ordinal), allocated)
				if all, err := waited.Add(books.Balance(queue, ledger.Either, ordinal)); err == nil {
					waited = all
				}
				o.State(accounting.Waited, info.Name, dimension, waited)
			}
		}
	}
}

// left returns the difference of two amounts, zero if it cannot be computed.
func left(whole, part ledger.Amount) ledger.Amount {
	amount, err := whole.Sub(part)
	if err != nil {
		return ledger.Amount{}
	}
	return amount
}
