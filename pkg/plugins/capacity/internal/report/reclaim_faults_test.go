// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestWhatKeepsReclaimFromWorking(t *testing.T) {
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

func TestTheConfigurationIsLoggedWhenItChanges(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	klog.SetLogger(logger)
	t.Cleanup(klog.ClearLogger)
	log := logger.GetSink().(ktesting.Underlier).GetBuffer()
	f, seen := newFixture(t), 0
	without, tiers := ReclaimFault{Kind: NoReclaimAction}, ReclaimFault{Kind: VictimsInOtherTier, Others: "gang", Plugin: "capacity"}
	for _, cycle := range []struct {
		name  string
		fault ReclaimFault
		idle  bool
		want  string
	}{
		{name: "nothing is wrong"},
		{name: "a fault", fault: without, want: without.String()},
		{name: "the same fault", fault: without},
		{name: "another one", fault: tiers, want: tiers.String()},
		{name: "it is corrected"},
		{name: "it is back", fault: tiers, want: tiers.String()},
		{name: "no queue deserves anything", idle: true, want: "no queue deserves anything"},
		{name: "nor in the next cycle", idle: true},
		{name: "a queue deserves something"},
		{name: "and no queue again", idle: true},
	} {
		f.LogReclaim(cycle.fault, cycle.idle)
		said := log.String()[seen:]
		seen += len(said)
		if (cycle.want == "") != (said == "") || !strings.Contains(said, cycle.want) {
			t.Errorf("%s: the log says %q, want %q", cycle.name, said, cycle.want)
		}
	}
}
