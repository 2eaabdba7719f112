// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestMay(t *testing.T) {
	for _, c := range []struct {
		name string
		// mine is the queue of the pod, below a parent.
		mine   queue
		parent string
		// held is what the queue has already, others what its sibling has.
		held, others    string
		names, requests string
		// assigned is the node of the pod, empty for none.
		assigned  string
		fits, may bool
	}{
		{name: "a queue that deserves what it asks for", mine: queue{deserved: "cpu=4"}, requests: "cpu=4", fits: true, may: true},
		{name: "although its parent is full", mine: queue{deserved: "cpu=4"}, parent: "cpu=4", others: "cpu=4", requests: "cpu=4", fits: true, may: true},
		{name: "a queue that would hold more than it deserves", mine: queue{deserved: "cpu=4"}, held: "cpu=1", requests: "cpu=4", fits: true},
		{name: "a queue that deserves nothing", requests: "cpu=4", fits: true},
		{name: "a queue that is full itself", mine: queue{capability: "cpu=3", deserved: "cpu=4"}, requests: "cpu=4"},
		{name: "one dimension is enough", mine: queue{deserved: "memory=1"}, requests: "cpu=4 memory=1", fits: true, may: true},
		{
			name: "of several cards, the first that the queue can carry counts", names: "A|B", requests: "nvidia.com/gpu=2", fits: true, may: true,
			mine: queue{capability: "A=1 B=2", deserved: "B=2", listsCards: true},
		},
		{
			name: "and that is the preferred one if it can carry both", names: "A|B", requests: "nvidia.com/gpu=2", fits: true,
			mine: queue{capability: "A=2 B=2", deserved: "B=2", listsCards: true},
		},
		{name: "no card that the queue can carry", names: "A|B", requests: "nvidia.com/gpu=2", mine: queue{capability: "A=1 B=1", deserved: "B=2", listsCards: true}},
		{
			name: "a pod that has a node asks for the cards of that node", names: "A|B", requests: "nvidia.com/gpu=2", assigned: "b", fits: true, may: true,
			mine: queue{capability: "A=2 B=2", deserved: "B=2", listsCards: true},
		},
		{name: "cards that no queue limits need no quota", names: "A", requests: "nvidia.com/gpu=2 cpu=1", mine: queue{deserved: "cpu=1"}, fits: true, may: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.mine.name, c.mine.parent = "mine", "parent"
			f := newFixture(t, queue{name: "parent", capability: c.parent}, queue{name: "other", parent: "parent"}, c.mine)
			f.candidate("held", "mine", c.held)
			f.candidate("others", "other", c.others)
			pod := f.pod("p", "mine", c.names, c.requests)
			if c.assigned != "" {
				if err := pod.Cards.Assign(f.books, f.fleet.Node(c.assigned), nil); err != nil {
					t.Fatal(err)
				}
			}
			if fits, may := f.reclaimer(pod).May(); fits != c.fits || may != c.may {
				t.Errorf("fits: %t, want %t; may reclaim: %t, want %t", fits, c.fits, may, c.may)
			}
		})
	}
}

// TestCanCarry: the parent of the queue is full.
func TestCanCarry(t *testing.T) {
	f := newFixture(t, queue{name: "parent", capability: "A=0 B=2", listsCards: true}, queue{name: "other", parent: "parent"}, queue{name: "mine", parent: "parent", capability: "B=2", listsCards: true})
	other := f.candidate("other", "other", "nvidia.com/gpu=2")
	if err := other.Cards.Assign(f.books, f.fleet.Node("b"), nil); err != nil {
		t.Fatal(err)
	}
	reclaimer := f.reclaimer(f.pod("p", "mine", "", "nvidia.com/gpu=2"))
	for words, want := range map[string]bool{"A=1": false, "B=2": true, "B=3": false, "cpu=100": true} {
		if got := reclaimer.CanCarry(ledger.NewPart(f.amounts(words))); got != want {
			t.Errorf("the queue can carry %s: %t, want %t", words, got, want)
		}
	}
}

// runs is a pod that runs in a queue.
type runs struct{ name, queue, requests string }

func TestVictims(t *testing.T) {
	four := []runs{{"b1", "b", "cpu=2"}, {"b2", "b", "cpu=2"}, {"b3", "b", "cpu=2"}, {"b4", "b", "cpu=2"}}
	for _, c := range []struct {
		name   string
		queues []queue
		pods   []runs
		// wanted is what the pod of queue a needs on the node, two cores if empty.
		wanted string
		want   string
	}{
		{
			name: "each victim counts for the next choice, until the queue has what it deserves", pods: four, want: "b1 b2",
			queues: []queue{{name: "root", capability: "cpu=8"}, {name: "a", parent: "root", deserved: "cpu=4"}, {name: "b", parent: "root", deserved: "cpu=4"}},
		},
		{
			name: "a queue that deserves nothing loses all", pods: four, want: "b1 b2 b3 b4",
			queues: []queue{{name: "root", capability: "cpu=8"}, {name: "a", parent: "root", deserved: "cpu=4"}, {name: "b", parent: "root"}},
		},
		{
			name: "a guarantee is kept", pods: four, want: "b1",
			queues: []queue{{name: "root", capability: "cpu=8"}, {name: "a", parent: "root", deserved: "cpu=4"}, {name: "b", parent: "root", guarantee: "cpu=5"}},
		},
		{
			name: "only pods below the ancestor that is full help",
			pods: []runs{{"c1", "c", "cpu=2"}, {"b1", "b", "cpu=8"}, {"c2", "c", "cpu=2"}}, want: "b1",
			queues: []queue{
				{name: "root", capability: "cpu=100"}, {name: "ml", parent: "root", capability: "cpu=8"}, {name: "c", parent: "root"},
				{name: "a", parent: "ml", deserved: "cpu=4"}, {name: "b", parent: "ml"},
			},
		},
		{
			name: "if only the node is full, pods of all queues help",
			pods: []runs{{"c1", "c", "cpu=2"}, {"b1", "b", "cpu=2"}}, want: "c1 b1",
			queues: []queue{
				{name: "root", capability: "cpu=100"}, {name: "ml", parent: "root", capability: "cpu=8"}, {name: "c", parent: "root"},
				{name: "a", parent: "ml", deserved: "cpu=4"}, {name: "b", parent: "ml"},
			},
		},
		{
			name: "a pod that frees only its place among pods does not help", wanted: "cpu=2 pods=1",
			pods: []runs{{"b1", "b", "memory=1"}, {"b2", "b", "memory=1 cpu=1"}}, want: "b2",
			queues: []queue{{name: "root"}, {name: "a", parent: "root", deserved: "cpu=4"}, {name: "b", parent: "root"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, c.queues...)
			var candidates []Candidate
			for _, pod := range c.pods {
				candidates = append(candidates, f.candidate(pod.name, pod.queue, pod.requests))
			}
			if c.wanted == "" {
				c.wanted = "cpu=2"
			}
			before := f.books.Describe()
			victims := f.reclaimer(f.pod("p", "a", "", "cpu=2")).Victims(candidates, f.amounts(c.wanted), f.counter.Resources.Pods)
			if got := names(candidates, victims); got != c.want {
				t.Errorf("victims are %q, want %q", got, c.want)
			}
			if f.books.Describe() != before {
				t.Error("the ledger has changed")
			}
		})
	}
}

func names(candidates []Candidate, victims []int) string {
	var names []string
	for _, i := range victims {
		names = append(names, candidates[i].Object.Name)
	}
	return strings.Join(names, " ")
}

// TestAPodThatSharesItsDevicesFreesNone: the last of the pods that share them does.
func TestAPodThatSharesItsDevicesFreesNone(t *testing.T) {
	f := newFixture(t, queue{name: "root"}, queue{name: "a", parent: "root", deserved: "example.com/device=1"}, queue{name: "b", parent: "root"})
	device := f.amounts("example.com/device=1")
	shared := ledger.NewPart(device)
	candidates := []Candidate{f.candidate("b1", "b", "cpu=1"), f.candidate("b2", "b", "cpu=1")}
	for i := range candidates {
		c := &candidates[i]
		c.Demand = append(c.Demand[:len(c.Demand):len(c.Demand)], shared)
		if err := f.books.Charge(c.Queue, c.Holder, c.Demand); err != nil {
			t.Fatal(err)
		}
	}
	reclaimer := f.reclaimer(f.pod("p", "a", "", ""))
	if got := reclaimer.Victims(candidates, device, f.counter.Resources.Pods); len(got) > 0 {
		t.Errorf("victims are %q although each leaves the devices to the other one", names(candidates, got))
	}
	if err := f.books.ReleaseHeld("b1", candidates[0].Demand); err != nil {
		t.Fatal(err)
	}
	if got := names(candidates, reclaimer.Victims(candidates, device, f.counter.Resources.Pods)); got != "b2" {
		t.Errorf("victims are %q, want b2, the last pod that has the devices", got)
	}
}

func TestCardsAreTakenBackWhereTheQueueCanUseThem(t *testing.T) {
	f := newFixture(t,
		queue{name: "root", capability: "A=8 B=2", listsCards: true},
		queue{name: "a", parent: "root", capability: "A=0 B=2", deserved: "B=2", listsCards: true}, queue{name: "b", parent: "root"})
	var candidates []Candidate
	for _, pod := range []struct{ name, node string }{{"b1", "a"}, {"b2", "b"}} {
		c := f.candidate(pod.name, "b", "nvidia.com/gpu=2")
		if err := c.Cards.Assign(f.books, f.fleet.Node(pod.node), nil); err != nil {
			t.Fatal(err)
		}
		candidates = append(candidates, c)
	}
	reclaimer := f.reclaimer(f.pod("p", "a", "A|B", "nvidia.com/gpu=2"))
	if fits, may := reclaimer.May(); !fits || !may {
		t.Errorf("fits: %t, may reclaim: %t", fits, may)
	}
	if got := names(candidates, reclaimer.Victims(candidates, f.amounts("B=2"), f.counter.Resources.Pods)); got != "b2" {
		t.Errorf("victims are %q, want the pod that has the cards", got)
	}
}
