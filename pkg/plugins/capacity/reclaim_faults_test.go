// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/conformance"

	"github.com/devicequota/devicequota/pkg/problems"
)

// TestATierAboveDecidesWithoutWhatQueuesDeserve: the event ReclaimIgnoresDeserved warns of this.
func TestATierAboveDecidesWithoutWhatQueuesDeserve(t *testing.T) {
	for _, c := range []struct {
		name  string
		above bool
		want  string
	}{
		{"in one tier, a queue keeps what it deserves", false, "asks:Pending held1:Running held2:Running"},
		{"a tier above takes it away", true, "asks:Pipelined held1:Running held2:Releasing"},
	} {
		s := newFixture(4).queue("root", "", nil).queue("owner", "root", func(q *upstreamv1beta1.QueueSpec) { q.Deserved = cpu(4) })
		s.queue("asker", "root", func(q *upstreamv1beta1.QueueSpec) { q.Deserved = cpu(4) })
		s.job("held", "owner", running, nil, newPod("held1", "n1", cpu(2)), newPod("held2", "n1", cpu(2)))
		s.PodGroups[0].Spec.MinMember = 1
		s.job("asks", "asker", inqueue, nil, newPod("asks", "", cpu(2)))
		s.Plugins = map[string]framework.PluginBuilder{conformance.PluginName: conformance.New}
		option := conf.PluginOption{Name: conformance.PluginName, EnabledReclaimable: ptr.To(true)}
		if c.above {
			s.above = []conf.PluginOption{option}
		} else {
			s.extra = []conf.PluginOption{option}
		}
		ssn := s.act(t)
		got := statuses(ssn)
		got = strings.Replace(got, "held1:Releasing held2:Running", "held1:Running held2:Releasing", 1) // either one
		if got != c.want {
			t.Errorf("%s: pods are %s, want %s", c.name, got, c.want)
		}
		framework.CloseSession(ssn)
	}
}

func TestAQueueThatDeservesSomethingIsToldThatNothingIsReclaimed(t *testing.T) {
	before := conf.EnabledActionMap
	t.Cleanup(func() { conf.EnabledActionMap = before })
	conf.EnabledActionMap = map[string]bool{"enqueue": true, "allocate": true}
	s := newFixture(8).queue("root", "", nil).queue("q", "root", func(q *upstreamv1beta1.QueueSpec) { q.Deserved = cpu(4) })
	ssn := s.open(t)
	client := ssn.KubeClient()
	framework.CloseSession(ssn)
	expectEvent(t, client, "Queue", "q", problems.ReclaimNotConfiguredReason, "The queue deserves <4> of cpu, but nothing is taken back from other queues")
	if reclaim.New().Name() != problems.ReclaimAction {
		t.Error("the action reclaim has another name")
	}
}
