// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// FuzzEvictions compares the result of a session for a job with everything that it could do, in small random clusters. No pod is evicted
// for nothing or without right, and no victim could stay. A pod that asks alone gets its place if there is a right set of victims, and
// the cheapest set is taken. For several pods together, the solver may miss a set or take a more expensive one. The order of objects does
// not affect the result.
func FuzzEvictions(f *testing.F) {
	for _, seed := range []uint64{12, 546, 906, 915, 1142, 1176, 1401, 2027, 2192, 2366, 2562, 2951, 3354, 4423, 4668, 4782, 4874, 4887, 6732, 7029} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		m := randomModel(rand.New(rand.NewPCG(seed, 0)))
		if want, _, found := m.expect(); found && want == 0 {
			return
		}
		o, again := m.outcome(t, rand.New(rand.NewPCG(seed, 1))), m.outcome(t, rand.New(rand.NewPCG(seed, 2)))
		if o.victims != again.victims || o.victims != 0 && !slices.Equal(o.places, again.places) {
			t.Errorf("the result depends on the order of objects: %v, %v\n%s", o, again, m.describe(o))
		}
		if fault := m.fault(o); fault != none && !m.tolerated(fault) {
			t.Errorf("%s\n%s", fault, m.describe(o))
		}
	})
}

// expect returns the cheapest right set, and its rule.
func (m *model) expect() (victims podSet, reclaim, found bool) {
	if victims, found = m.best(false); found {
		return victims, false, true
	}
	victims, found = m.best(true)
	return victims, true, found
}

// fault describes what is wrong with an outcome.
type fault string

const (
	none         fault = ""
	inVain       fault = "pods are evicted although the job does not start"
	missed       fault = "there is a right set of victims"
	notEnough    fault = "the pods do not fit"
	noRight      fault = "there is no right set of victims"
	noRightThere fault = "the victims are not right for these nodes"
	notMinimal   fault = "a victim could stay"
	dear         fault = "there is a cheaper right set of victims"
)

// tolerated reports whether a fault is known to happen. With several asking pods, the solver places one after the other. Pods that
// share a claim go together even if the claim is not short.
func (m *model) tolerated(f fault) bool {
	return len(m.asks) > 1 && (f == missed || f == dear || f == noRightThere) || m.shares() && (f == missed || f == dear || f == notMinimal)
}

func (m *model) shares() bool {
	for i := range m.pods {
		for j := range i {
			if m.pods[i].claim >= 0 && m.pods[i].claim == m.pods[j].claim {
				return true
			}
		}
	}
	return false
}

func (m *model) fault(o modelOutcome) fault {
	placed := !slices.Contains(o.places, -1)
	want, reclaim, found := m.expect()
	switch {
	case !placed && o.victims != 0:
		return inVain
	case !placed && found:
		return missed
	case !placed:
		return none
	case !m.enough(o.victims, o.places):
		return notEnough
	case !found:
		return noRight
	}
	if !m.right(reclaim, o.victims, o.places) {
		return noRightThere
	}
	for i := range m.pods {
		if o.victims.has(i) && m.rightSomewhere(reclaim, o.victims&^(1<<i)) {
			return notMinimal
		}
	}
	if m.cost(want).compare(m.cost(o.victims)) < 0 && m.wholes(want) == m.wholes(o.victims) {
		return dear
	}
	return none
}

// describe returns the input of the model, its outcome, and the expected outcome.
func (m *model) describe(o modelOutcome) string {
	var b strings.Builder
	want, reclaim, found := m.expect()
	fmt.Fprintf(&b, "nodes %+v whole %v budget %d\n", m.nodes, m.wholeGangs, m.budget)
	for i := range m.queues {
		q := &m.queues[i]
		t0, s0 := m.target(i, 0)
		t1, s1 := m.target(i, 1)
		fmt.Fprintf(&b, "queue %d parent %d deserved %v guarantee %v capability %v irreclaimable %v limit %d %d target %d/%v %d/%v used %v\n", i, q.parent, q.deserved, q.guarantee, q.capability, q.irreclaimable, m.limit(i, 0), m.limit(i, 1), t0, s0, t1, s1, m.used(i, 0))
	}
	fmt.Fprintf(&b, "jobs %+v\n", m.jobs)
	for i, p := range m.pods {
		devices := 0
		if p.claim >= 0 {
			devices = m.claims[p.claim].devices
		}
		fmt.Fprintf(&b, "pod %d job %d (%+v) node %d cores %d devices %d claim %d created %d protected %v leaving %v budgeted %v\n", i, p.job, m.jobs[p.job], p.node, p.cores, devices, p.claim, p.created, p.protected, p.leaving, p.budgeted)
	}
	fmt.Fprintf(&b, "asking %+v %+v\n", m.asking, m.asks)
	fmt.Fprintf(&b, "got victims %08b places %v; want %08b (found %v, reclaim %v)\ncosts %+v %+v\n", o.victims, o.places, want, found, reclaim, m.cost(o.victims), m.cost(want))
	return b.String()
}
