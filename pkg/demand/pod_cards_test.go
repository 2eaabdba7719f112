// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestCardsStayAssigned(t *testing.T) {
	for _, c := range []struct {
		name string
		// change runs between two rounds. It returns the new pod.
		change func(*fixture, *corev1.Pod) *corev1.Pod
		want   string
	}{
		{"nothing changes", func(_ *fixture, p *corev1.Pod) *corev1.Pod { return p }, "A:2"},
		{"the label of the node changes", func(f *fixture, p *corev1.Pod) *corev1.Pod { f.rename("C"); return p }, "A:2"},
		{"the label is gone", func(f *fixture, p *corev1.Pod) *corev1.Pod { f.Fleet.Set("a", card.Node{}); return p }, "A:2"},
		{"the node is gone", func(f *fixture, p *corev1.Pod) *corev1.Pod { f.Fleet.Remove("a"); return p }, "A:2"},
		{"all nodes with cards are gone", func(f *fixture, p *corev1.Pod) *corev1.Pod {
			for _, node := range []string{"a", "b", "n", "l"} {
				f.Fleet.Remove(node)
			}
			return p
		}, "A:2"},
		{"the pod changes", func(_ *fixture, p *corev1.Pod) *corev1.Pod { return p.DeepCopy() }, "A:2"},
		{"its annotation changes", func(_ *fixture, _ *corev1.Pod) *corev1.Pod { return object("p", "B", "nvidia.com/gpu=2") }, "A:2"},
		{"its annotation becomes invalid", func(_ *fixture, _ *corev1.Pod) *corev1.Pod { return object("p", "A B", "nvidia.com/gpu=2") }, "A:2"},
		{"the counter is reset", func(f *fixture, p *corev1.Pod) *corev1.Pod { f.Reset(); return p }, "A:2"},
		{"the pod was deleted and created again", func(_ *fixture, p *corev1.Pod) *corev1.Pod {
			p = p.DeepCopy()
			p.UID = "another"
			return p
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			p := object("p", "A", "nvidia.com/gpu=2")
			pod := f.count(p)
			f.assign(pod, "a")
			f.expectCards("the pod is placed", pod, "A:2")
			p = c.change(f, p)
			f.begin()
			after := f.count(p)
			f.expectCards("in the next round", after, c.want)
			if after.Cards.Assigned() != (c.want != "") || after.Cards.Charged() != (c.want != "") {
				t.Errorf("the pod has a node: %t, is charged: %t", after.Cards.Assigned(), after.Cards.Charged())
			}
			if c.want == "" {
				return
			}
			f.assign(after, "a")
			f.expectCards("the session assigns the cards of its node", after, c.want)
			if err := f.Unassign(after, f.books); err != nil {
				t.Fatal(err)
			}
			if f.expectCards("the pod has no node any more", after, ""); f.Assigned() != 0 {
				t.Error("its cards are still remembered")
			}
		})
	}
}

func TestCardsThatGetANameLaterAreCharged(t *testing.T) {
	f := newFixture(t)
	pod := f.count(object("p", "", "nvidia.com/gpu=2 nvidia.com/mig-1g=1"))
	f.Fleet.Set("a", card.Node{Model: "A", Offers: []card.Offer{{Resource: "nvidia.com/gpu", Card: "A", Count: 8}}})
	f.assign(pod, "a")
	f.expectCards("one of two cards has a name", pod, "A:2")
	f.Fleet.Set("a", cardNode("C"))
	f.assign(pod, "a")
	f.expectCards("the other one has a name, too", pod, "A:2 C/mig-1g-mixed:1")
}

// cardNode has whole cards and shares of a model.
func cardNode(model string) card.Node {
	return card.Node{Model: model, Offers: []card.Offer{
		{Resource: "nvidia.com/gpu", Card: model, Count: 8}, {Resource: "nvidia.com/mig-1g", Card: model + "/mig-1g-mixed", Count: 8},
	}}
}

func TestAssignCorrectsTheCharge(t *testing.T) {
	f := newFixture(t)
	pod := f.count(object("p", "A", "nvidia.com/gpu=2"))
	a := f.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "A"})
	if err := f.books.Charge(0, "p", pod.Demand); err != nil {
		t.Fatal(err)
	}
	f.assign(pod, "a")
	if got := f.books.Balance(0, ledger.Allocated, a); got != ledger.Units(2) {
		t.Errorf("the queue is charged %s cards, want 2", got)
	}
	if err := f.Unassign(pod, f.books); err != nil {
		t.Fatal(err)
	}
	if got := f.books.Balance(0, ledger.Allocated, a); got.Sign() != 0 {
		t.Errorf("the queue is charged %s cards, want none", got)
	}
}

func TestRenewKeepsWhatIsRemembered(t *testing.T) {
	f := newFixture(t)
	p := object("p", "A", "nvidia.com/gpu=1")
	f.assign(f.count(p), "a")
	for i := range 100 {
		f.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: fmt.Sprint("gone-", i)})
	}
	f.Renew()
	if n := f.Dimensions.Len(); n > 10 {
		t.Errorf("there are still %d dimensions", n)
	}
	if f.Known(p) != nil || f.Assigned() != 1 {
		t.Errorf("the pod is not counted anew, or its cards are forgotten: %d are remembered", f.Assigned())
	}
	f.rename("C")
	f.begin()
	f.expectCards("the pod keeps its card", f.count(p), "A:1")
	f.Renew()
	f.Fleet.Remove("a")
	f.begin()
	f.expectCards("and when its node is gone", f.count(p), "A:1")
	f.Renew()
	f.begin()
	f.expectCards("and when all is renewed once more", f.count(p), "A:1")
	f.Forget(func(*corev1.Pod) bool { return false })
}
