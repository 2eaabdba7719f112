// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"strings"
	"testing"

	"volcano.sh/apis/pkg/apis/scheduling"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/quota"
)

func guaranteed(words string) func(*scheduling.Queue, *schedulingv1beta1.Queue) {
	return func(queue *scheduling.Queue, _ *schedulingv1beta1.Queue) { queue.Spec.Guarantee.Resource = list(words) }
}

func deservesDevices(_ *scheduling.Queue, object *schedulingv1beta1.Queue) {
	object.Spec.DRA = &schedulingv1beta1.DRAQuota{Deserved: schedulingv1beta1.DeviceQuotas{"h100": {Count: 2}}}
}

func TestQueuesThatTheConfigurationKeepsFromWhatTheyDeserve(t *testing.T) {
	noAction, tiers := problems.ReclaimFault{Kind: problems.NoReclaimAction}, problems.ReclaimFault{Kind: problems.VictimsInOtherTier}
	const never, ignored = "q:ReclaimNotConfigured", "q:ReclaimIgnoresDeserved"
	type changes = []func(*scheduling.Queue, *schedulingv1beta1.Queue)
	for _, c := range []struct {
		name      string
		queue     changes
		fault     problems.ReclaimFault
		deserving bool
		want      string
	}{
		{name: "nothing is wrong", queue: changes{deserves("cpu=4")}, deserving: true},
		{name: "a queue that deserves nothing", fault: noAction},
		{name: "a queue that deserves cpu", queue: changes{deserves("cpu=4")}, fault: noAction, deserving: true, want: never},
		{name: "a queue that deserves devices", queue: changes{deservesDevices}, fault: noAction, deserving: true, want: never},
		{name: "a queue that deserves none of something", queue: changes{deserves("nvidia.com/gpu=0")}, fault: noAction},
		{name: "what is guaranteed is kept free", queue: changes{guaranteed("cpu=4")}, fault: noAction},
		{name: "a queue that deserves what it is guaranteed", queue: changes{guaranteed("cpu=4"), deserves("cpu=4")}, fault: noAction},
		{name: "a queue that deserves more than it is guaranteed", queue: changes{guaranteed("cpu=4"), deserves("cpu=5")}, fault: noAction, deserving: true, want: never},
		{name: "cpu with victims in another tier", queue: changes{deserves("cpu=4")}, fault: tiers, deserving: true, want: ignored},
		{name: "devices with victims in another tier", queue: changes{deservesDevices}, fault: tiers, deserving: true},
		{name: "both with victims in another tier", queue: changes{deserves("cpu=4"), deservesDevices}, fault: tiers, deserving: true, want: ignored},
	} {
		f := newFixture(t)
		f.input.ReclaimFault = c.fault
		s := f.queue("q", "root", c.queue...).take()
		if got := reasons(s); got != c.want {
			t.Errorf("%s: problems are %q, want %q", c.name, got, c.want)
		}
		if some, wronged := s.Deserving(); some != c.deserving || wronged != (c.want != "") {
			t.Errorf("%s: some queue deserves something: %t, and is kept from it: %t", c.name, some, wronged)
		}
	}
}

func TestOnlyQueuesThatCanReclaimAreTold(t *testing.T) {
	f := newFixture(t)
	f.input.ReclaimFault = problems.ReclaimFault{Kind: problems.NoReclaimAction}
	delete(f.input.Queues, quota.Root)
	f.queue("root", "", deserves("cpu=100")).queue("org", "root", deserves("cpu=8")).queue("a", "org", deserves("cpu=4")).queue("b", "org")
	f.queue("gpus", "root", deservesDevices).queue("c", "gpus")
	s := f.take()
	if got, want := reasons(s), "a:ReclaimNotConfigured gpus:ReclaimNotConfigured"; got != want {
		t.Errorf("problems are %q, want %q", got, want)
	}
	told := s.Problems[problems.Problem{Queue: "a", Reason: problems.ReclaimNotConfiguredReason}]
	if !strings.HasPrefix(told, "The queue deserves <4> of cpu, but nothing is taken back") {
		t.Errorf("queue a is told %q", told)
	}
}

func TestTheProblemGoesWhenTheConfigurationIsCorrected(t *testing.T) {
	f := newFixture(t)
	f.queue("q", "root", deserves("cpu=4"))
	for _, fault := range []problems.ReclaimFault{{Kind: problems.NoReclaimAction}, {}, {Kind: problems.VictimsNotAsked}} {
		f.input.ReclaimFault = fault
		if got := reasons(f.take()); (got == "") != (fault.Kind == problems.NoReclaimFault) {
			t.Errorf("with fault %q, problems are %q", fault, got)
		}
	}
}
