// SPDX-License-Identifier: Apache-2.0

package members

import (
	"cmp"
	"slices"
	"time"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Session answers for one cycle. One goroutine uses it.
type Session struct {
	members    *Members
	dimensions *ledger.Dimensions
	// order is the memory for the places that a workload may go to.
	order []candidate
	// due is when the session that comes next is due without a change, zero if it is not.
	due time.Time
	// growth is the memory for what a workload that grows needs in addition.
	growth ledger.Amounts
}

// candidate is a place for a workload.
type candidate struct {
	*place
	pieces float64
}

// Open opens a session. A workload of the snapshot counts as granted if its state has a grant. What granted workloads need
// and the clusters do not show yet is taken: where they were assigned to, else by the estimate of Take.
func (m *Members) Open(snapshot *framework.Snapshot) *Session {
	m.session++
	m.selectors.turn()
	same := m.dimensions == snapshot.Dimensions
	if !same && m.dimensions != nil {
		m.translateArrivals(m.dimensions, snapshot.Dimensions)
	}
	m.dimensions = snapshot.Dimensions
	m.want(snapshot.Dimensions)
	m.refreshPlaces(same)
	s := &Session{members: m, dimensions: snapshot.Dimensions}
	for _, w := range snapshot.Workloads {
		if mayArrive(w) && len(w.Binding.Spec.Clusters) > 0 {
			s.due = earlier(s.due, m.arrive(w, snapshot.Now))
		}
	}
	for _, w := range snapshot.Workloads {
		if mayArrive(w) && len(w.Binding.Spec.Clusters) == 0 {
			s.Take(w)
		}
	}
	m.forgetArrivals()
	return s
}

// Due returns when another session is due, even if nothing changes: what granted workloads need counts as shown then. It is zero if
// none is.
func (s *Session) Due() time.Time { return s.due }

// earlier returns the earlier of two times. Zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// mayArrive reports whether pods of a workload may come into being.
func mayArrive(w *framework.Workload) bool {
	return w.State.Grant != nil && !w.State.Finished && !w.State.Deleting && !w.Returns() && w.Err == nil
}

// Fits returns nil if some cluster can hold the largest part of a workload, with any of the alternatives that it has, and a
// refusal with the numbers of clusters if none can. Of a workload that grows, only what is more than its grant must fit, in a cluster that has it.
// It answers as if some others had left their clusters.
func (s *Session) Fits(w *framework.Workload, without ...*framework.Workload) *framework.Refusal {
	s.give(without, 1)
	defer s.give(without, -1)
	need := s.need(w)
	for _, p := range s.members.places {
		if p.holds(need, w.Needs.Choices) && s.members.selectors.admits(p, w) && s.obstacle(p, w) == none {
			return nil
		}
	}
	return s.refuse(w, need)
}

// Take takes what a workload needs that has been granted in this session. Karmada's scheduler will choose the clusters. The estimate is that
// each cluster that gets a copy has the most room for it, and that divided replicas fill one cluster after the other, those with
// the most room first.
func (s *Session) Take(w *framework.Workload) {
	need := s.need(w)
	if len(need) == 0 {
		return
	}
	s.order = s.order[:0]
	for _, p := range s.members.places {
		if s.members.selectors.admits(p, w) && s.obstacle(p, w) == none {
			s.order = append(s.order, candidate{p, p.pieces(need, w.Needs.Choices)})
		}
	}
	slices.SortStableFunc(s.order, func(a, b candidate) int { return cmp.Compare(b.pieces, a.pieces) })
	if !w.Spread.Divided {
		for _, c := range s.order[:min(len(s.order), int(max(w.Spread.Copies, 1)))] {
			c.take(need, 1)
		}
		return
	}
	left := max(w.Spread.Replicas, int64(w.Binding.Spec.Replicas))
	for i, c := range s.order {
		times := min(left, int64(max(c.pieces, 0)))
		if i == len(s.order)-1 {
			times = left
		}
		c.take(need, times)
		left -= times
	}
}

// give gives back what workloads have in their clusters, that many times.
func (s *Session) give(workloads []*framework.Workload, times int64) {
	for _, w := range workloads {
		if w.Err != nil {
			continue
		}
		for name, pieces := range held(w) {
			if p := s.members.place(name); p != nil {
				p.take(w.Needs.Largest, -times*pieces)
			}
		}
	}
}

// held returns how many pieces of a workload clusters have. Of replicas that leave, nobody knows where they are.
func held(w *framework.Workload) map[string]int64 {
	pieces := map[string]int64{}
	if len(w.Binding.Spec.Clusters) == 0 && !w.Spread.Divided {
		for _, work := range w.Works {
			pieces[binding.ClusterOf(work)] = 1
		}
	}
	for _, target := range w.Binding.Spec.Clusters {
		pieces[target.Name] = replicas(w, int64(target.Replicas))
	}
	return pieces
}

// need is what must be free in one cluster.
func (s *Session) need(w *framework.Workload) ledger.Amounts {
	if !grown(w) {
		return w.Needs.Largest
	}
	copies := float64(max(w.Spread.Copies, 1))
	s.growth = s.growth[:0]
	for _, e := range w.Needs.Largest {
		dimension := s.dimensions.Dimension(e.Dimension)
		for _, granted := range w.State.Grant.Amounts {
			if granted.Dimension != dimension {
				continue
			}
			each := granted.Amount
			if copies > 1 {
				each, _ = ledger.FromFloat(granted.Amount.Float(1)/copies, 1)
			}
			e.Amount, _ = e.Amount.Sub(each)
		}
		if e.Amount.Sign() > 0 {
			s.growth = append(s.growth, e)
		}
	}
	return s.growth
}

// grown reports whether clusters have a workload as a whole, and it wants more there.
func grown(w *framework.Workload) bool {
	return w.Grows() && w.State.Grant != nil && len(w.Binding.Spec.Clusters) > 0 && !w.Spread.Divided
}

// obstacle returns what is in the way of a workload in a cluster besides room. What a cluster has already stays there.
func (s *Session) obstacle(p *place, w *framework.Workload) obstacle {
	spec := &w.Binding.Spec
	if spec.TargetContains(p.object.Name) {
		switch {
		case !p.ready:
			return notReady
		case p.cluster.resources == nil:
			return noSummary
		}
		return none
	}
	return p.obstacleFor(spec)
}

// admits reports whether a workload may go to a cluster, whatever state that is in.
func (s *selectors) admits(p *place, w *framework.Workload) bool {
	spec := &w.Binding.Spec
	if grown(w) {
		return spec.TargetContains(p.object.Name)
	}
	return s.allows(spec.Placement, p.object) && !spec.ClusterInGracefulEvictionTasks(p.object.Name)
}
