// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestNobodyTakesWhatOthersGiveBack: victims do not leave at the same time. Without strict order, others would take the room of the
// first victim, and more and more victims would be needed.
func TestNobodyTakesWhatOthersGiveBack(t *testing.T) {
	f := newFixture(t, "reclaim: true, strictOrder: false")
	f.queue("org", "root", 9)
	f.queue("poor", "org", 9, 5)
	f.queue("rich", "org", 9, 4)
	f.running("keeps", "rich", 4, priority("high"))
	first, second := f.running("first", "rich", 2), f.running("second", "rich", 2)
	f.held("asker", "poor", 5)
	f.held("small", "rich", 1)
	f.expect("asker InsufficientCPUQuota, first Reclaimed *, second Reclaimed *, small WaitsBehind")

	for _, w := range []*framework.Workload{first, second} {
		w.State.Hold, w.Binding.Spec.Clusters = &binding.Hold{Reason: binding.Returning}, nil
	}
	first.Works = nil
	f.memory.restsSince(first, told(first), noon.Add(-worksSettle))
	f.expect("asker InsufficientCPUQuota, first Returned *, small WaitsBehind")

	first.State = binding.State{Hold: &binding.Hold{Reason: binding.Waiting}}
	second.Works = nil
	f.memory.restsSince(second, told(second), noon.Add(-worksSettle))
	f.expect("asker Granted *, first InsufficientCPUQuota, second Returned *, small InsufficientCPUQuota")
}

// TestGrowthWaitsBehindNobodyForWhatItHas: it asks for no more of that dimension.
func TestGrowthWaitsBehindNobodyForWhatItHas(t *testing.T) {
	memory := ledger.Dimension{Kind: ledger.Resource, Name: "memory"}
	f := newFixture(t, "")
	f.queue("team", "root", 4)
	f.held("large", "team", 4)
	grows := func(w *framework.Workload) {
		w.State.Hold = &binding.Hold{Reason: binding.Growing, Dispatching: true}
		w.Needs = needing(append(w.Needs.All, ledger.Entry{Dimension: f.snapshot.Dimensions.Ordinal(memory), Amount: ledger.Units(1)}))
	}
	f.running("in memory", "team", 1, grows)
	f.running("in both", "team", 2, grows, func(w *framework.Workload) { w.State.Grant.Amounts[0].Amount = ledger.Units(1) })
	f.expect("in both WaitsBehind, in memory GrowthGranted *, large InsufficientCPUQuota")
}
