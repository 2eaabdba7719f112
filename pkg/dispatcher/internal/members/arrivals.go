// SPDX-License-Identifier: Apache-2.0

package members

import (
	"slices"
	"time"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// settleTime is how long after a member accepted a workload its figures may lack pods of it. Karmada reports them every ten
// seconds.
const settleTime = 30 * time.Second

// arrival is a workload that was granted room and on its way into a cluster, or there.
type arrival struct {
	cluster string
	// each is what a piece of the workload needs, and times is how many pieces the cluster has. Need is both together.
	each  ledger.Amounts
	times int64
	need  ledger.Amounts
	// missing is the part of the need that the figures of the cluster do not show yet.
	missing ledger.Amounts
	// settles is when nothing is missing any more. It is zero while the member has not accepted the workload.
	settles time.Time
	// session is the last session that knew the workload in the cluster.
	session uint64
}

// arrive notes what a granted workload needs in the clusters that it was assigned. What these clusters use in addition since
// the last session is attributed to what is missing, and what is still missing is taken. The cluster's growth
// cannot be told from that of others, so the time limit ends what is attributed wrongly. It returns when the next limit ends,
// zero if there is none.
func (m *Members) arrive(w *framework.Workload, now time.Time) (due time.Time) {
	arrivals := m.arrivals[w.Binding.UID]
	for i := range w.Binding.Spec.Clusters {
		target := &w.Binding.Spec.Clusters[i]
		at := slices.IndexFunc(arrivals, func(a arrival) bool { return a.cluster == target.Name })
		if at < 0 {
			at = len(arrivals)
			arrivals = append(arrivals, arrival{cluster: target.Name})
		}
		a := &arrivals[at]
		a.session = m.session
		if !w.Grows() {
			a.needs(w.Needs.Largest, replicas(w, int64(target.Replicas)))
		}
		a.settle(w, now, m.session == 1)
		if p := m.place(target.Name); p != nil && len(a.missing) > 0 {
			a.missing = p.attribute(a.missing)
			p.take(a.missing, 1)
		}
		if len(a.missing) > 0 {
			due = earlier(due, a.settles)
		}
	}
	m.arrivals[w.Binding.UID] = slices.DeleteFunc(arrivals, func(a arrival) bool { return a.session != m.session })
	return due
}

// replicas returns how many pieces a cluster has of a workload.
func replicas(w *framework.Workload, assigned int64) int64 {
	if w.Spread.Divided {
		return assigned
	}
	return 1
}

// needs sets the need. What is more than before is missing.
func (a *arrival) needs(each ledger.Amounts, times int64) {
	if a.times == times && slices.Equal(a.each, each) {
		return
	}
	var need ledger.Amounts
	for _, e := range each {
		if amount, err := e.Amount.Times(times); err == nil {
			need = append(need, ledger.Entry{Dimension: e.Dimension, Amount: amount})
		}
	}
	missing, err := need.Beyond(a.need, nil).PlusAll(a.missing)
	if err != nil {
		missing = slices.Clone(need)
	}
	for i := range missing {
		if most := need.Of(missing[i].Dimension); missing[i].Amount.Cmp(most) > 0 {
			missing[i].Amount = most
		}
	}
	a.each, a.times, a.need, a.missing, a.settles = slices.Clone(each), times, need, missing, time.Time{}
}

// settle ends what is missing when the time is over. A dispatcher that has just started does not know when a member accepted
// a workload, and takes it for a long time ago if the grant was made then.
func (a *arrival) settle(w *framework.Workload, now time.Time, started bool) {
	if len(a.missing) == 0 {
		return
	}
	if a.settles.IsZero() && a.applied(w) {
		a.settles = now.Add(settleTime)
		if granted := w.State.Grant.Time.Time; started && now.Sub(granted) >= settleTime {
			a.settles = now
		}
	}
	if !a.settles.IsZero() && !now.Before(a.settles) {
		a.missing = nil
	}
}

// applied reports whether the member has accepted the workload.
func (a *arrival) applied(w *framework.Workload) bool {
	for i := range w.Binding.Status.AggregatedStatus {
		if item := &w.Binding.Status.AggregatedStatus[i]; item.ClusterName == a.cluster {
			return item.Applied
		}
	}
	return false
}

// attribute returns what is still missing after the growth of the cluster, which it uses up.
func (p *place) attribute(missing ledger.Amounts) ledger.Amounts {
	for i := range missing {
		e := &missing[i]
		if int(e.Dimension) >= len(p.growth) || p.growth[e.Dimension].Sign() == 0 {
			continue
		}
		seen := p.growth[e.Dimension]
		if e.Amount.Cmp(seen) < 0 {
			seen = e.Amount
		}
		e.Amount, _ = e.Amount.Sub(seen)
		p.growth[e.Dimension], _ = p.growth[e.Dimension].Sub(seen)
	}
	return slices.DeleteFunc(missing, func(e ledger.Entry) bool { return e.Amount.Sign() <= 0 })
}

// forgetArrivals drops what is known of workloads that are gone.
func (m *Members) forgetArrivals() {
	for uid, arrivals := range m.arrivals {
		if len(arrivals) == 0 || arrivals[0].session != m.session {
			delete(m.arrivals, uid)
		}
	}
}

// translateArrivals gives all amounts the ordinals of other dimensions.
func (m *Members) translateArrivals(from, to *ledger.Dimensions) {
	for _, arrivals := range m.arrivals {
		for i := range arrivals {
			for _, list := range []ledger.Amounts{arrivals[i].each, arrivals[i].need, arrivals[i].missing} {
				for j := range list {
					list[j].Dimension = to.Ordinal(from.Dimension(list[j].Dimension))
				}
			}
		}
	}
}
