// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/quota"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// cardLimits are the card annotations of a queue. Empty ones are missing.
type cardLimits struct{ quota, deserved, guarantee string }

// withElasticCards gives queues card annotations.
func (s *fixture) withElasticCards(limits map[string]cardLimits) *fixture {
	s.publish(func(q *schedulingv1beta1.Queue) {
		q.Annotations = map[string]string{}
		of := limits[q.Name]
		for i, text := range []string{of.quota, of.deserved, of.guarantee} {
			if text != "" {
				q.Annotations[quota.CardAnnotations[i]] = text
			}
		}
	})
	return s
}

// TestCardsThatAQueueDeservesAreTakenBack: another queue holds all eight H100 of node n1 and all eight A100 of node n2, in pods
// with two each.
func TestCardsThatAQueueDeservesAreTakenBack(t *testing.T) {
	const (
		all = `{"H100": 8, "A100": 8}`
	)
	for _, c := range []struct {
		name              string
		root, team, other cardLimits
		flat              bool
		asks              int
		names             string
		// taken and takenA100 are the numbers of H100 and A100 that the other queue loses.
		taken, takenA100 int
	}{
		{name: "up to what it deserves", root: cardLimits{quota: all}, team: cardLimits{deserved: `{"H100": 4}`}, asks: 4, names: "H100", taken: 4},
		{name: "up to what it is guaranteed", root: cardLimits{quota: all}, team: cardLimits{guarantee: `{"H100": 4}`}, asks: 4, names: "H100", taken: 4},
		{name: "no more than it deserves", root: cardLimits{quota: all}, team: cardLimits{deserved: `{"H100": 3}`}, asks: 4, names: "H100"},
		{name: "no more than the queue above has", root: cardLimits{quota: `{"H100": 2, "A100": 8}`}, team: cardLimits{deserved: `{"H100": 4}`}, asks: 4, names: "H100"},
		{name: "no other card", root: cardLimits{quota: all}, team: cardLimits{deserved: `{"H100": 4}`}, asks: 4, names: "A100"},
		{name: "the other card", root: cardLimits{quota: all}, team: cardLimits{deserved: `{"A100": 2}`}, asks: 2, names: "A100", takenA100: 2},
		{name: "beyond what the other queue deserves", root: cardLimits{quota: all}, team: cardLimits{deserved: `{"H100": 2}`}, other: cardLimits{deserved: `{"H100": 6, "A100": 6}`}, asks: 2, names: "H100", taken: 2},
		{name: "not what the other queue deserves", root: cardLimits{quota: all}, team: cardLimits{deserved: `{"H100": 2}`}, other: cardLimits{deserved: `{"H100": 8, "A100": 6}`}, asks: 2, names: "H100"},
		{name: "not what the other queue is guaranteed", root: cardLimits{quota: all}, team: cardLimits{deserved: `{"H100": 2}`}, other: cardLimits{guarantee: `{"H100": 7}`}, asks: 2, names: "H100"},
		{name: "a card quota alone entitles to nothing", root: cardLimits{quota: all}, team: cardLimits{quota: `{"H100": 4}`}, asks: 4, names: "H100"},
		{name: "no card quota at all", team: cardLimits{deserved: `{"H100": 4}`}, asks: 4, names: "H100", taken: 4},
		{name: "no card quota at all, and too many", team: cardLimits{deserved: `{"H100": 4}`}, asks: 6, names: "H100"},
		{name: "no hierarchy", flat: true, team: cardLimits{quota: all, deserved: `{"H100": 4}`}, other: cardLimits{quota: all}, asks: 4, names: "H100", taken: 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("team", "root", nil)
			s.queue("other", "root", reclaimable)
			s.flat = c.flat
			s.withElasticCards(map[string]cardLimits{"root": c.root, "team": c.team, "other": c.other})
			for i := range 4 {
				h, a := fmt.Sprint("h", i), fmt.Sprint("a", i)
				s.job(h, "other", running, nil, gpuPod(h, "n1", 2, "")).job(a, "other", running, nil, gpuPod(a, "n2", 2, ""))
			}
			s.job("j", "team", inqueue, nil, gpuPod("p", "", c.asks, c.names))
			p := pluginOf(s.act(t))
			left := p.cardsOfQueue("other", "H100") + " H100, " + p.cardsOfQueue("other", "A100") + " A100"
			if want := fmt.Sprintf("%d H100, %d A100", 8-c.taken, 8-c.takenA100); left != want {
				t.Errorf("the other queue has %s left, want %s: pods are %s", left, want, statuses(p.session))
			}
			promised := p.cardsIn(ledger.Pipelined, "team", "H100") + " H100, " + p.cardsIn(ledger.Pipelined, "team", "A100") + " A100"
			if want := fmt.Sprintf("%d H100, %d A100", c.taken, c.takenA100); promised != want {
				t.Errorf("the queue is promised %s, want %s", promised, want)
			}
		})
	}
}

// TestASiblingCannotHaveCardsThatAreGuaranteed whether they are used or not.
func TestASiblingCannotHaveCardsThatAreGuaranteed(t *testing.T) {
	s := newFixture(8).model(1, "H100").queue("root", "", nil).queue("ml", "root", nil).queue("team", "ml", nil).queue("other", "ml", nil)
	s.withElasticCards(map[string]cardLimits{"ml": {quota: `{"H100": 8}`}, "team": {guarantee: `{"H100": 4}`}})
	s.job("j", "other", inqueue, nil, gpuPod("five", "", 5, "H100"))
	s.job("k", "other", inqueue, nil, gpuPod("four", "", 4, "H100"))
	s.job("l", "team", inqueue, nil, gpuPod("guaranteed", "", 4, "H100"))
	ssn := s.act(t)
	expectStatuses(t, ssn, "five:Pending four:Binding guaranteed:Binding")
	framework.CloseSession(ssn)
	expectEvent(t, ssn.KubeClient(), "Pod", "five", refusals.InsufficientScalarQuotaReason, "but capability is <8>, of which <4> is guaranteed to others")
}

// TestTheQueueWithTheSmallerShareOfItsCardsComesFirst although it has more cards.
func TestTheQueueWithTheSmallerShareOfItsCardsComesFirst(t *testing.T) {
	s := newFixture(16).model(1, "H100").queue("root", "", nil).queue("half", "root", nil).queue("quarter", "root", nil)
	s.withElasticCards(map[string]cardLimits{"root": {quota: `{"H100": 16}`}, "half": {deserved: `{"H100": 2}`}, "quarter": {deserved: `{"H100": 8}`}})
	s.job("j", "half", running, nil, gpuPod("one", "n1", 1, "")).job("k", "quarter", running, nil, gpuPod("two", "n1", 2, ""))
	ssn := s.open(t)
	if !ssn.QueueOrderFn(ssn.Queues["quarter"], ssn.Queues["half"]) || ssn.QueueOrderFn(ssn.Queues["half"], ssn.Queues["quarter"]) {
		t.Error("the queue that has half of what it deserves comes before the one that has a quarter")
	}
}

// TestNumbersOfCardsThatContradictEachOtherAreReported on the queue, and refuse nothing.
func TestNumbersOfCardsThatContradictEachOtherAreReported(t *testing.T) {
	s := newFixture(8).model(1, "H100").queue("root", "", nil).queue("team", "root", nil).queue("other", "root", nil)
	s.withElasticCards(map[string]cardLimits{
		"root": {quota: `{"H100": 8}`}, "team": {quota: `{"H100": 2}`, deserved: `{"H100": 2}`, guarantee: `{"H100": 4}`}, "other": {quota: `{"H100": 8}`, guarantee: `{"A100": 1}`},
	})
	s.job("j", "other", inqueue, nil, gpuPod("six", "", 6, "H100")).job("k", "team", inqueue, nil, gpuPod("two", "", 2, "H100"))
	ssn := s.act(t)
	expectStatuses(t, ssn, "six:Binding two:Binding")
	framework.CloseSession(ssn)
	expectEvent(t, ssn.KubeClient(), "Queue", "team", problems.ContradictoryCardsReason, "The queue's annotation volcano.sh/card.guarantee has <4> of <H100>, but its annotation volcano.sh/card.deserved has <2>: lower the one, or raise the other")
	expectEvent(t, ssn.KubeClient(), "Queue", "other", problems.CardNotListedReason, "The queue's annotation volcano.sh/card.guarantee lists <A100>, but its annotation volcano.sh/card.quota does not")
}

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
			s := newFixture(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil).queue("other", "root", reclaimable)
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
