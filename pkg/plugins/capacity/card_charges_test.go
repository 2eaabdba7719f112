// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestChargesStayWithPods: a pod keeps its charge, whatever happens to its node. The charge ends with the pod.
func TestChargesStayWithPods(t *testing.T) {
	s := newFixture(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 8, "A100": 8}`}).job("j", "q", running, nil, gpuPod("p", "n1", 3, ""))
	first := s.open(t)
	p := pluginOf(first)
	if got := p.cardsOfQueue("q", "H100"); got != "3" {
		t.Fatalf("%s H100 are charged, want 3", got)
	}
	s.relabel(t, first, "B200")
	framework.CloseSession(first)
	again := s.again(t, func() bool { return true })
	if p = pluginOf(again); !p.cache.cards.Fleet.Known("B200") || p.cardsOfQueue("q", "H100") != "3" || p.cardsOfQueue("q", "B200") != "0" {
		t.Errorf("after the node has another label %s H100 and %s B200 are charged, want 3 and none", p.cardsOfQueue("q", "H100"), p.cardsOfQueue("q", "B200"))
	}
	must(t, first.KubeClient().CoreV1().Nodes().Delete(t.Context(), "n1", metav1.DeleteOptions{}))
	framework.CloseSession(again)
	// The pod is another object now, as after any change.
	s.Pods[0] = s.Pods[0].DeepCopy()
	s.Pods[0].Labels = map[string]string{"changed": "yes"}
	gone := s.again(t, func() bool {
		_, err := again.InformerFactory().Core().V1().Nodes().Lister().Get("n1")
		return err != nil && p.cache.cards.Pending("n1")
	})
	if p = pluginOf(gone); p.cache.cards.Fleet.Known("B200") || p.cardsOfQueue("q", "H100") != "3" {
		t.Errorf("after the node is gone %s H100 are charged, want 3", p.cardsOfQueue("q", "H100"))
	}
	framework.CloseSession(gone)
	s.Pods = nil
	empty := s.again(t, func() bool { return true })
	if p = pluginOf(empty); p.cardsOfQueue("q", "H100") != "0" || p.cache.snapshots.Assigned() != 0 {
		t.Errorf("after the pod is gone %s H100 are charged, %d pods remembered", p.cardsOfQueue("q", "H100"), p.cache.snapshots.Assigned())
	}
}

// again opens another session of the same process once ready returns true. The nodes' labels stay as in the first session's cluster.
func (s *fixture) again(t *testing.T, ready func() bool) *framework.Session {
	t.Helper()
	eventually("the next session can begin", ready)
	for i := range s.Nodes {
		s.Nodes[i] = s.Nodes[i].DeepCopy()
		s.Nodes[i].Labels = nil
	}
	return s.open(t)
}

// TestGoingPodsKeepTheirCards: what a pod has is not given away before the pod is gone. Other pods may be asked to wait for it.
func TestGoingPodsKeepTheirCards(t *testing.T) {
	s := newFixture(8, 8).model(1, "H100").model(2, "H100").queue("root", "", nil).queue("q", "root", nil)
	going := gpuPod("going", "n1", 2, "")
	now := metav1.Now()
	going.DeletionTimestamp = &now
	s.withCards(map[string]string{"q": `{"H100": 2}`}).job("i", "q", running, nil, going).job("j", "q", inqueue, nil, gpuPod("next", "", 1, "H100"))
	ssn := s.open(t)
	p, next := pluginOf(ssn), taskOf(ssn, "next")
	if !ssn.Allocatable(ssn.Queues["q"], next) {
		t.Error("it may not even wait for the pod that is about to go")
	}
	s.Run([]framework.Action{allocate.New()})
	if got := nodesOf(ssn); got != "going@n1 next@" {
		t.Errorf("pods are %s: three cards of two are in use", got)
	}
	if got := p.snapshot.Held().Balance(idOfQueue(p, "q"), ledger.Allocated, p.snapshot.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "H100"})); got != ledger.Units(2) {
		t.Errorf("%s are held, want 2", got)
	}
}

// TestUndoneAllocationsAreRefunded: a pod whose allocation is undone may get another card next.
func TestUndoneAllocationsAreRefunded(t *testing.T) {
	s := newFixture(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 2, "A100": 2}`}).job("j", "q", inqueue, nil, gpuPod("p", "", 2, "H100|A100"))
	ssn := s.open(t)
	p, task := pluginOf(ssn), taskOf(ssn, "p")
	for _, step := range []struct {
		node, want string
		pipeline   bool
	}{{node: "n1", want: "2 0"}, {node: "n2", want: "0 2"}, {node: "n1", want: "2 0", pipeline: true}} {
		statement := framework.NewStatement(ssn)
		must(t, ssn.PrePredicateFn(task))
		place := func() error { return statement.Allocate(task, ssn.Nodes[step.node]) }
		if step.pipeline {
			place = func() error { return statement.Pipeline(task, step.node, false) }
		}
		must(t, place())
		account, others := ledger.Allocated, ledger.Pipelined
		if step.pipeline {
			account, others = others, account
		}
		if got := p.cardsIn(account, "q", "H100") + " " + p.cardsIn(account, "q", "A100"); got != step.want {
			t.Errorf("on %s %s are %s, want %s", step.node, got, account, step.want)
		}
		if got := p.cardsIn(others, "q", "H100") + " " + p.cardsIn(others, "q", "A100"); got != "0 0" {
			t.Errorf("on %s %s are %s, want none", step.node, got, others)
		}
		statement.Discard()
		if got := p.cardsOfQueue("q", "H100") + " " + p.cardsOfQueue("q", "A100"); got != "0 0" {
			t.Errorf("after that was undone %s are charged", got)
		}
	}
}

// TestEvictedPodsKeepTheirCards: an undone eviction changes nothing.
func TestEvictedPodsKeepTheirCards(t *testing.T) {
	s := newFixture(8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 2}`}).job("j", "q", running, nil, gpuPod("p", "n1", 2, ""))
	ssn := s.open(t)
	p := pluginOf(ssn)
	statement := framework.NewStatement(ssn)
	must(t, statement.Evict(taskOf(ssn, "p"), "test"))
	if p.cardsOfQueue("q", "H100") != "0" || p.cardsIn(ledger.Releasing, "q", "H100") != "2" {
		t.Errorf("an evicted pod is charged %s, %s are about to leave", p.cardsOfQueue("q", "H100"), p.cardsIn(ledger.Releasing, "q", "H100"))
	}
	statement.Discard()
	if p.cardsOfQueue("q", "H100") != "2" || p.cardsIn(ledger.Releasing, "q", "H100") != "0" {
		t.Errorf("a pod that stays is charged %s, %s are about to leave", p.cardsOfQueue("q", "H100"), p.cardsIn(ledger.Releasing, "q", "H100"))
	}
}

// TestChargesSurviveASessionWithoutTheirJob: this happens when a queue is deleted and created again.
func TestChargesSurviveASessionWithoutTheirJob(t *testing.T) {
	s := newFixture(8, 8).model(1, "H100").model(2, "A100").queue("root", "", nil).queue("q", "root", nil)
	s.withCards(map[string]string{"q": `{"H100": 8, "A100": 8}`}).job("j", "q", running, nil, gpuPod("p", "n1", 3, ""))
	s.job("k", "q", running, nil, gpuPod("stays", "n2", 1, ""))
	first := s.open(t)
	p := pluginOf(first)
	s.relabel(t, first, "B200")
	framework.CloseSession(first)
	pods, groups := s.Pods, s.PodGroups
	s.Pods, s.PodGroups, s.strays = pods[1:], groups[1:], pods[:1]
	without := s.again(t, func() bool { return p.cache.cards.Pending("n1") })
	if got := pluginOf(without).cardsOfQueue("q", "H100"); got != "3" {
		t.Errorf("%s H100 are charged for a pod that runs without its job, want 3", got)
	}
	framework.CloseSession(without)
	s.Pods, s.PodGroups, s.strays = pods, groups, nil
	back := pluginOf(s.again(t, func() bool { return true }))
	if back.cardsOfQueue("q", "H100") != "3" || back.cardsOfQueue("q", "B200") != "0" {
		t.Errorf("%s H100 and %s B200 are charged, want 3 and none", back.cardsOfQueue("q", "H100"), back.cardsOfQueue("q", "B200"))
	}
}

// relabel gives the first node another model, and waits until this is read.
func (s *fixture) relabel(t *testing.T, ssn *framework.Session, model string) {
	t.Helper()
	node := s.Nodes[0].DeepCopy()
	node.Labels = map[string]string{"nvidia.com/gpu.product": model}
	if _, err := ssn.KubeClient().CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	known := pluginOf(ssn).cache.cards
	eventually("the label has been read", func() bool {
		seen, err := ssn.InformerFactory().Core().V1().Nodes().Lister().Get(node.Name)
		return err == nil && seen.Labels["nvidia.com/gpu.product"] == model && known.Pending(node.Name)
	})
}

// TestCardsThatComeToBeKnownAreCharged: a device plugin starts after the scheduler.
func TestCardsThatComeToBeKnownAreCharged(t *testing.T) {
	s := newFixture(8).model(1, "H100").queue("root", "", nil).queue("q", "root", nil)
	delete(s.Nodes[0].Status.Allocatable, "nvidia.com/gpu")
	s.withCards(map[string]string{"q": `{"H100": 8}`}).job("j", "q", running, nil, gpuPod("p", "n1", 3, "H100"))
	first := s.open(t)
	p := pluginOf(first)
	if got := p.cardsOfQueue("q", "H100"); got != "0" {
		t.Errorf("%s are charged although nobody knows which", got)
	}
	s.Nodes[0] = s.Nodes[0].DeepCopy() // the session may still read the other one
	s.Nodes[0].Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("8")
	s.relabel(t, first, "H100")
	framework.CloseSession(first)
	if got := pluginOf(s.again(t, func() bool { return true })).cardsOfQueue("q", "H100"); got != "3" {
		t.Errorf("%s are charged, want 3", got)
	}
}
