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
		// held is what the queue already has. others is what its sibling has.
		held, others string
		requests     string
		fits, may    bool
	}{
		{name: "a queue that deserves what it asks for", mine: queue{deserved: "cpu=4"}, requests: "cpu=4", fits: true, may: true},
		{name: "although its parent is full", mine: queue{deserved: "cpu=4"}, parent: "cpu=4", others: "cpu=4", requests: "cpu=4", fits: true, may: true},
		{name: "a queue that would hold more than it deserves", mine: queue{deserved: "cpu=4"}, held: "cpu=1", requests: "cpu=4", fits: true},
		{name: "a queue that deserves nothing", requests: "cpu=4", fits: true},
		{name: "a queue that is full itself", mine: queue{capability: "cpu=3", deserved: "cpu=4"}, requests: "cpu=4"},
		{name: "one dimension is enough", mine: queue{deserved: "memory=1"}, requests: "cpu=4 memory=1", fits: true, may: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.mine.name, c.mine.parent = "mine", "parent"
			f := newFixture(t, queue{name: "parent", capability: c.parent}, queue{name: "other", parent: "parent"}, c.mine)
			f.candidate("held", "mine", c.held)
			f.candidate("others", "other", c.others)
			if fits, may := f.reclaimer("mine", c.requests).May(); fits != c.fits || may != c.may {
				t.Errorf("fits: %t, want %t; may reclaim: %t, want %t", fits, c.fits, may, c.may)
			}
		})
	}
}

// runs is a running pod of a queue.
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
			victims := f.reclaimer("a", "cpu=2").Victims(candidates, f.amounts(c.wanted), f.counter.Resources.Pods)
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

// TestDevicesThatVictimsShareAreFreeWhenTheLastOneGoes: then the queue would lose its guarantee.
func TestDevicesThatVictimsShareAreFreeWhenTheLastOneGoes(t *testing.T) {
	for guarantee, want := range map[string]string{"": "b1 b2", "example.com/device=1": "b1"} {
		f := newFixture(t, queue{name: "root"}, queue{name: "a", parent: "root", deserved: "cpu=4"}, queue{name: "b", parent: "root", guarantee: guarantee})
		shared := ledger.NewPart(f.amounts("example.com/device=1"))
		candidates := []Candidate{f.candidate("b1", "b", "cpu=2"), f.candidate("b2", "b", "cpu=2")}
		for i := range candidates {
			c := &candidates[i]
			c.Demand = append(c.Demand[:len(c.Demand):len(c.Demand)], shared)
			if err := f.books.Charge(c.Queue, c.Holder, c.Demand); err != nil {
				t.Fatal(err)
			}
		}
		victims := f.reclaimer("a", "cpu=2").Victims(candidates, f.amounts("cpu=2"), f.counter.Resources.Pods)
		if got := names(candidates, victims); got != want {
			t.Errorf("with the guarantee %q, victims are %q, want %q", guarantee, got, want)
		}
	}
}
