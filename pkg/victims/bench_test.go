// SPDX-License-Identifier: Apache-2.0

package victims

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// evenCluster returns a cluster with equal pods, spread evenly over the nodes, in random order of cost. The preemptor
// needs the room of need pods on one node.
func evenCluster(units, nodes, need int) *cluster {
	random := rand.New(rand.NewPCG(1, 1))
	c := &cluster{need: []int{need}, queueRight: []int{units}}
	for range nodes {
		c.free = append(c.free, []int{0})
	}
	for i, created := range random.Perm(units) {
		c.units = append(c.units, Unit{Pods: 1, Created: int64(created), Name: fmt.Sprint("unit", i)})
		c.queue = append(c.queue, 0)
		freed := make([][]int, nodes)
		for node := range freed {
			freed[node] = []int{0}
		}
		freed[i%nodes][0] = 1
		c.frees = append(c.frees, freed)
	}
	return c
}

// onlyNode keeps the preemptor from all nodes except the first.
func (c *cluster) onlyNode() *cluster {
	for node := 1; node < len(c.free); node++ {
		c.free[node][0] = -len(c.units)
	}
	return c
}

// gangs divides the units among gangs, in turn.
func (c *cluster) gangs(gangs int) *cluster {
	for i := range c.units {
		c.units[i].Gang = fmt.Sprint("gang", i%gangs)
	}
	return c
}

// rights divides the units among queues, in turn. Each queue may lose the given number of units.
func (c *cluster) rights(queues, right int) *cluster {
	c.queueRight = make([]int, queues)
	for i := range c.queueRight {
		c.queueRight[i] = right
	}
	for i := range c.units {
		c.queue[i] = i % queues
	}
	return c
}

// BenchmarkChoose reports how often Choose calls enough, with a budget of 256.
func BenchmarkChoose(b *testing.B) {
	for _, c := range []struct {
		name    string
		cluster *cluster
	}{
		{"1of8", evenCluster(8, 1, 1)},
		{"2of8", evenCluster(8, 1, 2)},
		{"8of8", evenCluster(8, 1, 8)},
		{"none of 8", evenCluster(8, 1, 9)},
		{"1of64", evenCluster(64, 1, 1)},
		{"1of64/only one helps", evenCluster(64, 64, 1).onlyNode()},
		{"2of64", evenCluster(64, 1, 2)},
		{"2of64/on one of 8 nodes", evenCluster(64, 8, 2)},
		{"2of64/only two help", evenCluster(64, 32, 2).onlyNode()},
		{"2of64/16 gangs", evenCluster(64, 8, 2).gangs(16)},
		{"3of64/on one of 8 nodes", evenCluster(64, 8, 3)},
		{"8of64", evenCluster(64, 1, 8)},
		{"8of64/on one of 8 nodes", evenCluster(64, 8, 8)},
		{"8of64/only eight help", evenCluster(64, 8, 8).onlyNode()},
		{"8of64/rights of 8 queues to 2", evenCluster(64, 1, 8).rights(8, 2)},
		{"8of64/rights of 8 queues to 1", evenCluster(64, 1, 8).rights(8, 1)},
		{"none of 64", evenCluster(64, 1, 65)},
		{"none of 64/for rights of 4 queues to 2", evenCluster(64, 1, 9).rights(4, 2)},
		{"none of 8/for rights of 2 queues to 2", evenCluster(8, 1, 5).rights(2, 2)},
		{"1of1000", evenCluster(1000, 1, 1)},
		{"1of1000/only one helps", evenCluster(1000, 1000, 1).onlyNode()},
		{"2of1000", evenCluster(1000, 1, 2)},
		{"2of1000/on one of 100 nodes", evenCluster(1000, 100, 2)},
		{"8of1000", evenCluster(1000, 1, 8)},
		{"8of1000/on one of 100 nodes", evenCluster(1000, 100, 8)},
	} {
		b.Run(c.name, func(b *testing.B) { benchmark(b, c.cluster) })
	}
}

func benchmark(b *testing.B, c *cluster) {
	var askedEnough, askedAllowed, victims int
	for b.Loop() {
		set, _ := Choose(c.units,
			func(set []int) bool { askedAllowed++; return c.allowed(set) },
			func(set []int) bool { askedEnough++; return c.enough(set) }, 256)
		victims = len(set)
	}
	b.ReportMetric(float64(askedEnough)/float64(b.N), "enough/op")
	b.ReportMetric(float64(askedAllowed)/float64(b.N), "allowed/op")
	b.ReportMetric(float64(victims), "victims")
}
