// SPDX-License-Identifier: Apache-2.0

package ranking

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"
)

var errFull = errors.New("full")

// cluster has the room on each node.
type cluster struct {
	room  []int
	asked atomic.Int64
}

func (c *cluster) ask(node int) Answer {
	c.asked.Add(1)
	if c.room[node] == 0 {
		return Answer{Refusal: errFull}
	}
	return Answer{Score: -float64(c.room[node]), Later: c.room[node]%5 == 4}
}

// best is what a search that asks all nodes finds.
func (c *cluster) best() (best Answer) {
	best = Answer{Refusal: errFull}
	for node := range c.room {
		now := c.ask(node)
		if now.Refusal == nil && (best.Refusal != nil || (&answer{Answer: now}).before(&answer{Answer: best})) {
			best = now
		}
	}
	return best
}

func TestARankingFindsWhatASearchOfAllNodesFinds(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		c := &cluster{room: make([]int, 1+random.IntN(40))}
		for i := range c.room {
			c.room[i] = random.IntN(8)
		}
		var changed []int
		r := New(len(c.room), random.IntN(len(c.room)))
		for range 200 {
			want := c.best()
			node, _, found := r.Best(changed, len(c.room), c.ask)
			if found != (want.Refusal == nil) {
				t.Fatalf("seed %d: found: got %v, want %v", seed, found, !found)
			}
			if found {
				if got := c.ask(node); got != want {
					t.Fatalf("seed %d: got %v, want %v", seed, got, want)
				}
				c.room[node]--
				changed = append(changed, node)
			}
			if random.IntN(3) == 0 {
				node := random.IntN(len(c.room))
				c.room[node] = random.IntN(8)
				changed = append(changed, node)
			}
		}
	}
}

func TestOnlyChangedNodesAreAskedAgain(t *testing.T) {
	c := &cluster{room: []int{3, 2, 1, 0}}
	r := New(4, 2)
	if node, now, found := r.Best(nil, 4, c.ask); node != 2 || !now || !found || c.asked.Load() != 4 {
		t.Fatalf("the first pod: got node %d, asked now %v, found %v, and %d nodes asked", node, now, found, c.asked.Load())
	}
	if node, now, _ := r.Best(nil, 4, c.ask); node != 2 || now || c.asked.Load() != 4 {
		t.Errorf("nothing has changed: got node %d, asked now %v, and %d nodes asked", node, now, c.asked.Load())
	}
	c.room[2] = 0
	if node, now, _ := r.Best([]int{2, 2}, 4, c.ask); node != 1 || now || c.asked.Load() != 5 {
		t.Errorf("one node has changed: got node %d, asked now %v, and %d nodes asked", node, now, c.asked.Load())
	}
	r.Refuse(1, errFull)
	if node, _, _ := r.Best([]int{2, 2}, 4, c.ask); node != 0 {
		t.Errorf("a refused node: got node %d", node)
	}
	refused := map[int]bool{}
	for node, said := range r.Each {
		if said.Refusal != nil {
			refused[node] = true
		}
	}
	if len(refused) != 3 || refused[0] {
		t.Errorf("refusals: got %v", refused)
	}
}

func TestNoMoreNodesAreAskedThanAreEnough(t *testing.T) {
	c := &cluster{room: make([]int, 1000)}
	for i := range c.room {
		c.room[i] = 1 + i%2
	}
	r := New(1000, 990)
	node, _, _ := r.Best(nil, 100, c.ask)
	if asked := c.asked.Load(); asked != 100 || r.Asked() != 100 || node < 90 && node%2 != 0 {
		t.Errorf("got node %d, and %d nodes asked", node, asked)
	}
	var changed []int
	for node := range 90 {
		c.room[node], changed = 0, append(changed, node)
	}
	changed = append(changed, 500) // it has not been asked
	c.asked.Store(0)
	r.Best(changed, 100, c.ask)
	if asked := c.asked.Load(); asked != 90+90 {
		t.Errorf("after 90 of the nodes have filled up: got %d nodes asked, want these and as many others", asked)
	}
}

// TestNodesThatHaveChangedAreAskedTogether: if many kinds of pods come in turn, most of the asked nodes have changed when the next pod of a kind comes.
func TestNodesThatHaveChangedAreAskedTogether(t *testing.T) {
	const nodes = 64
	r := New(nodes, 0)
	r.Best(nil, nodes, func(int) Answer { return Answer{} })
	changed := make([]int, nodes)
	for node := range changed {
		changed[node] = node
	}
	two := make(chan struct{})
	r.Best(changed, nodes, func(int) Answer {
		select {
		case two <- struct{}{}:
		case <-two:
		case <-time.After(time.Second):
			t.Error("a node is asked alone")
		}
		return Answer{}
	})
}
