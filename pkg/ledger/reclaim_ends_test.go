// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// contest is a cluster without free room, in which queues take back what they deserve until nobody can.
type contest struct {
	*testing.T
	books *Ledger
	total Amounts
	pods  []contestPod
	log   []string
}

type contestPod struct {
	queue QueueID
	asks  Amounts
	part  *Part
	runs  bool
}

func holderOf(pod int) Holder { return Holder(fmt.Sprint("pod-", pod)) }

// newContest makes three queues, two of them possibly below one parent, with any deserved amounts of two cards and cpu, and up to eight pods.
func newContest(t *testing.T, random *rand.Rand) *contest {
	dimensions := &Dimensions{}
	kinds := []Ordinal{
		dimensions.Ordinal(Dimension{Kind: Card, Name: "A100"}), dimensions.Ordinal(Dimension{Kind: Card, Name: "H100"}), dimensions.Ordinal(Dimension{Kind: Resource, Name: "cpu"}),
	}
	amounts := func(most int, likely float64) (as Amounts) {
		for _, o := range kinds {
			if random.Float64() < likely {
				as = append(as, Entry{Dimension: o, Amount: Units(int64(random.IntN(most + 1)))})
			}
		}
		return as
	}
	parent := []string{"root", "p"}[random.IntN(2)]
	specs := []QueueSpec{{Name: "root"}, {Name: "p", Parent: "root", Deserved: amounts(6, 0.5)}}
	for _, name := range []string{"a", "b", "c"} {
		specs = append(specs, QueueSpec{Name: name, Parent: parent, Deserved: amounts(4, 0.6), Guarantee: amounts(1, 0.2)})
		parent = []string{"root", parent}[random.IntN(2)]
	}
	books, _ := New(dimensions, nil, specs)
	c := &contest{T: t, books: books}
	for _, o := range kinds {
		c.total = append(c.total, Entry{Dimension: o, Amount: Units(int64(2 + random.IntN(3)))})
	}
	for range 3 + random.IntN(6) {
		queue, found := books.Queue([]string{"a", "b", "c"}[random.IntN(3)])
		if asks := amounts(2, 0.7); found && len(asks) > 0 {
			c.pods = append(c.pods, contestPod{queue: queue, asks: asks, part: NewPart(asks)})
		}
	}
	return c
}

// lacks returns the amounts that a pod asks for in dimensions of which too little is free if some pods are gone.
func (c *contest) lacks(asks Amounts, gone uint) (short Amounts) {
	for _, e := range asks {
		free := c.total.Of(e.Dimension)
		for i := range c.pods {
			if c.pods[i].runs && gone&(1<<i) == 0 {
				free, _ = free.Sub(c.pods[i].asks.Of(e.Dimension))
			}
		}
		if e.Amount.Cmp(free) > 0 {
			short = append(short, e)
		}
	}
	return short
}

// victims returns the first set of pods that a waiting pod may evict to start, as bits.
func (c *contest) victims(asker int) (set uint, found bool) {
	p := &c.pods[asker]
	short := c.lacks(p.asks, 0)
	for set := uint(1); set < 1<<len(c.pods); set++ {
		if len(c.lacks(p.asks, set)) == 0 && c.may(p, short, set) {
			return set, true
		}
	}
	return 0, false
}

func (c *contest) may(p *contestPod, short Amounts, set uint) bool {
	view := c.books.View()
	for i := range c.pods {
		if set&(1<<i) == 0 {
			continue
		}
		if !c.pods[i].runs || c.pods[i].queue == p.queue {
			return false
		}
		if err := view.ReleaseHeld(holderOf(i), Demand{c.pods[i].part}); err != nil {
			c.Fatal(err)
		}
	}
	for i := range c.pods {
		if set&(1<<i) != 0 && !view.MayEvict(p.queue, c.pods[i].asks, short, c.pods[i].queue) {
			return false
		}
	}
	return true
}

func (c *contest) start(pod int) {
	c.pods[pod].runs = true
	if err := c.books.Charge(c.pods[pod].queue, holderOf(pod), Demand{c.pods[pod].part}); err != nil {
		c.Fatal(err)
	}
}

// TestReclaimEnds: pods that were evicted ask again. Two queues that may evict each other's pods would do so forever.
func TestReclaimEnds(t *testing.T) {
	evictions := 0
	for seed := range uint64(10_000) {
		c := newContest(t, rand.New(rand.NewPCG(seed, 1)))
		const many = 100
		for step, idle := 0, 0; idle < len(c.pods); step++ {
			pod := step % max(1, len(c.pods))
			idle++
			if c.pods[pod].runs {
				continue
			}
			if len(c.lacks(c.pods[pod].asks, 0)) > 0 {
				set, found := c.victims(pod)
				if !found {
					continue
				}
				for i := range c.pods {
					if set&(1<<i) != 0 {
						c.pods[i].runs = false
						if err := c.books.Release(c.pods[i].part, holderOf(i)); err != nil {
							t.Fatal(err)
						}
						evictions++
					}
				}
				c.log = append(c.log, fmt.Sprintf("%s starts pod %d %v, evicts %b", c.books.Name(c.pods[pod].queue), pod, c.pods[pod].asks, set))
			}
			c.start(pod)
			if idle = 0; len(c.log) > many {
				t.Fatalf("seed %d: no end: %s", seed, strings.Join(c.log[many-6:], "\n"))
			}
		}
	}
	if evictions < 1000 {
		t.Errorf("only %d pods were evicted", evictions)
	}
}
