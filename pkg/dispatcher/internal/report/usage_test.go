// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"testing"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestWhatWorkloadsWaitForIsRequested(t *testing.T) {
	l, snapshot := books(t) // team is charged 3 cpu
	needs := func(w *framework.Workload, n int64) *framework.Workload {
		w.Needs.All = amountsOf(snapshot, n, cpu)
		w.Needs.Stays = w.Needs.All
		return w
	}
	waits := needs(job("waits", "team"), 4)
	grows := needs(granted("grows", "team", units(cpu, 2)), 5)
	grows.State.Hold = &binding.Hold{Reason: binding.Growing}
	shrinks := needs(granted("shrinks", "team", units(cpu, 9)), 5)
	shrinks.State.Hold = grows.State.Hold
	unknown := needs(job("unknown", "team"), 100)
	unknown.Err = errors.New("no template")
	for _, c := range []struct {
		name      string
		workloads []*framework.Workload
		decisions []Decision
		want      int64
	}{
		{"nobody waits", []*framework.Workload{needs(granted("runs", "team", units(cpu, 3)), 3)}, nil, 3},
		{"a workload waits", []*framework.Workload{waits}, nil, 7},
		{"it was refused", []*framework.Workload{waits}, []Decision{Held(waits, short(9))}, 7},
		{"it was granted room, which the ledger has", []*framework.Workload{waits}, []Decision{Granted(waits, &binding.Grant{Queue: "team"})}, 3},
		{"one that runs grows", []*framework.Workload{grows}, nil, 6},
		{"it is granted the growth", []*framework.Workload{grows}, []Decision{GrowthGranted(grows, &binding.Grant{Queue: "team"})}, 3},
		{"one needs less than it has", []*framework.Workload{shrinks}, nil, 3},
		{"nobody knows what one needs", []*framework.Workload{unknown}, nil, 3},
		{"the queue does not exist", []*framework.Workload{needs(job("lost", "no-such-queue"), 4)}, nil, 3},
	} {
		snapshot.Workloads = c.workloads
		usage := UsageOf(l, snapshot, c.decisions)
		for _, queue := range []string{"team", "root"} {
			if got := usage[queue].Dimensions[0]; got.Dimension != cpu || got.Request != ledger.Units(c.want) || got.Allocated != ledger.Units(3) {
				t.Errorf("%s: queue %s has %v, want a request of %d", c.name, queue, got, c.want)
			}
		}
	}
	if got := UsageOf(nil, snapshot, nil); got != nil {
		t.Errorf("without a ledger, the usage is %v", got)
	}
}
