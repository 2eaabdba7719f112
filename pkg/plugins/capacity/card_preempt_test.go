// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// prioritized makes the fixture's jobs preempt each other by the priorities of their pods.
func (s *fixture) prioritized() {
	if s.Plugins == nil {
		s.Plugins = map[string]framework.PluginBuilder{}
	}
	on := ptr.To(true)
	s.Plugins[priority.PluginName] = priority.New
	s.extra = append(s.extra, conf.PluginOption{Name: priority.PluginName, EnabledPreemptable: on, EnabledJobOrder: on, EnabledTaskOrder: on, EnabledJobStarving: on})
}

func withPriority(pod *corev1.Pod, value int32) *corev1.Pod {
	pod.Spec.Priority = &value
	return pod
}

// TestPreemptionForCards: only pods whose eviction helps become victims.
func TestPreemptionForCards(t *testing.T) {
	for _, c := range []struct {
		name, quota string
		low, high   *corev1.Pod
		change      func(*fixture)
		want        string
	}{
		{name: "the card quota is full", quota: `{"H100": 8}`, low: gpuPod("low", "n1", 8, ""), high: gpuPod("p", "", 2, "H100"), want: "low:Releasing p:Pipelined"},
		{name: "the card quota is full on another model's node", quota: `{"H100": 0, "A100": 8}`, low: gpuPod("low", "n2", 8, ""), high: gpuPod("p", "", 2, "H100"), want: "low:Running p:Pending"},
		{name: "one model has no quota, the other's node is full", quota: `{"H100": 0, "A100": 16}`, low: gpuPod("low", "n2", 8, ""), high: gpuPod("p", "", 2, "H100|A100"), want: "low:Releasing p:Pipelined"},
		{name: "cpu of the queue is short, and only a pod on another model's node gives some", quota: `{"H100": 8, "A100": 8}`, low: newPod("low", "n2", cpu(4)), high: gpuPod("p", "", 2, "H100"),
			change: func(s *fixture) { s.Queues[1].Spec.Capability = cpu(4) }, want: "low:Releasing p:Pipelined"},
		{name: "cpu of the queue is short, and a pod on a node with the card gives some", quota: `{"H100": 8, "A100": 8}`, low: newPod("low", "n1", cpu(4)), high: gpuPod("p", "", 2, "H100"),
			change: func(s *fixture) { s.Queues[1].Spec.Capability = cpu(4) }, want: "low:Releasing p:Pipelined"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
			if s.prioritized(); c.change != nil {
				c.change(s)
			}
			s.withCards(map[string]string{"q": c.quota}).job("i", "q", running, nil, withPriority(c.low, 1)).job("j", "q", inqueue, nil, withPriority(c.high, 100))
			expectStatuses(t, s.act(t), c.want)
		})
	}
}

// TestReclaimForCards: no pod is evicted for a pod that its own queue refuses.
func TestReclaimForCards(t *testing.T) {
	for _, c := range []struct {
		name, quota, names, want, promised string
	}{
		{name: "there is quota for one of the cards, whose node is full", quota: `{"H100": 0, "A100": 4}`, names: "H100|A100", want: "n1", promised: "0 2"},
		{name: "there is quota for neither", quota: `{"H100": 1, "A100": 1}`, names: "H100|A100", want: "n1 n2", promised: "0 0"},
		{name: "there is quota for no card at all", quota: `{"H100": 1, "A100": 1}`, want: "n1 n2", promised: "0 0"},
		{name: "there is quota", quota: `{"H100": 4}`, names: "H100", want: "n2", promised: "2 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil)
			s.queue("q", "root", nil).queue("other", "root", func(spec *scheduling.QueueSpec) { spec.Reclaimable = ptr.To(true) })
			s.withElasticCards(map[string]cardLimits{"q": {quota: c.quota, deserved: `{"H100": 4, "A100": 4}`}, "other": {quota: `{"H100": 8, "A100": 8}`}})
			for i, node := range []string{"n1", "n1", "n2", "n2"} {
				s.job(fmt.Sprint("other-", i), "other", running, nil, gpuPod(fmt.Sprint("other-", i), node, 4, ""))
			}
			s.job("j", "q", inqueue, nil, gpuPod("p", "", 2, c.names))
			ssn := s.act(t)
			untouched := map[string]int{}
			for _, job := range ssn.Jobs {
				for _, task := range job.TaskStatusIndex[api.Running] {
					untouched[task.NodeName]++
				}
			}
			for _, node := range strings.Fields(c.want) {
				if untouched[node] != 2 {
					t.Errorf("of two pods on %s %d go on", node, untouched[node])
				}
			}
			p := pluginOf(ssn)
			if got := p.cardsIn(ledger.Pipelined, "q", "H100") + " " + p.cardsIn(ledger.Pipelined, "q", "A100"); got != c.promised {
				t.Errorf("%s are promised, want %s", got, c.promised)
			}
		})
	}
}
