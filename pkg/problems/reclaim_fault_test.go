// SPDX-License-Identifier: Apache-2.0

package problems

import (
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestWhatKeepsReclaimFromWorking(t *testing.T) {
	h100 := ledger.Dimension{Kind: ledger.DeviceCount, Name: "nvidia-h100"}
	cores := ledger.Dimension{Kind: ledger.Resource, Name: "cpu"}
	const deserves = "The queue deserves <2> of nvidia-h100, <4> of cpu, but "
	for _, c := range []struct {
		fault           ReclaimFault
		reason, message string
		onlyResources   bool
	}{
		{
			fault: ReclaimFault{Kind: NoReclaimAction, Plugin: "capacity"}, reason: "ReclaimNotConfigured",
			message: deserves + "nothing is taken back from other queues, because the scheduler's configuration does not have the action reclaim: add it to the actions",
		},
		{
			fault: ReclaimFault{Kind: NoStarvingJobs, Plugin: "capacity"}, reason: "ReclaimNotConfigured", onlyResources: true,
			message: deserves + "for pods that ask for neither devices nor cards, nothing is taken back from other queues, because no plugin in the scheduler's configuration tells which jobs need more than they have: add the plugin gang, or set its enableJobStarving to true",
		},
		{
			fault: ReclaimFault{Kind: VictimsNotAsked, Plugin: "capacity"}, reason: "ReclaimIgnoresDeserved",
			message: deserves + "reclaim does not go by what queues deserve, because enableReclaimable of the plugin capacity is false in the scheduler's configuration: set it to true",
		},
		{
			fault: ReclaimFault{Kind: ReclaimersNotAsked, Plugin: "capacity-card"}, reason: "ReclaimIgnoresDeserved", onlyResources: true,
			message: deserves + "for pods that ask for neither devices nor cards, queues may also reclaim more than they deserve, because enablePreemptive of the plugin capacity-card is false in the scheduler's configuration: set it to true",
		},
		{
			fault: ReclaimFault{Kind: VictimsInOtherTier, Plugin: "capacity", Others: "gang, conformance"}, reason: "ReclaimIgnoresDeserved", onlyResources: true,
			message: deserves + "for pods that ask for neither devices nor cards, reclaim may evict pods without regard to what queues deserve, because the scheduler's configuration has gang, conformance in another tier than capacity, and the first tier that names victims decides: put them into one tier",
		},
	} {
		problems := Problems{}
		problems.ReclaimFault("q", []Deserved{{cores, ledger.Units(4)}, {h100, ledger.Units(2)}}, c.fault)
		if got := problems[Problem{Queue: "q", Reason: c.reason}]; len(problems) != 1 || got != c.message {
			t.Errorf("%d problems, %s is\n%s, want\n%s", len(problems), c.reason, got, c.message)
		}
		if got := c.fault.Concerns(h100.Kind); got == c.onlyResources || !c.fault.Concerns(cores.Kind) {
			t.Errorf("it concerns devices: %t, resources: %t: %s", got, c.fault.Concerns(cores.Kind), c.message)
		}
	}
	if (ReclaimFault{}).Concerns(cores.Kind) {
		t.Error("no fault concerns a queue")
	}
}
