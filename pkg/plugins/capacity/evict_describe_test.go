// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"strings"
)

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
