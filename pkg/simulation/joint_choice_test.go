// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
)

// device is one that a driver publishes.
type device struct {
	name, size, model string
	// parts is what it consumes of the two parts of a GPU, which its node has once. It is zero for a device of its own.
	parts int
}

// suits reports whether a class selects the device.
func (d device) suits(class string) bool { return class == "gpu" || class == d.size }

// wants is what a pod asks for: one of several lists of classes, with one device of each class.
type wants struct {
	template     string
	alternatives [][]string
	// same says that all devices must be of one model.
	same bool
}

var allWants = []wants{
	{"any", [][]string{{"gpu"}}, false},
	{"large", [][]string{{"large"}}, false},
	{"small", [][]string{{"small"}}, false},
	{"whole", [][]string{{"whole"}}, false},
	{"two", [][]string{{"gpu", "gpu"}}, false},
	{"alike", [][]string{{"gpu", "gpu"}}, true},
	{"large-or-small", [][]string{{"large"}, {"small"}}, false},
	{"whole-or-half", [][]string{{"whole"}, {"half"}}, false},
	{"large-and-small-or-half", [][]string{{"large", "small"}, {"large", "half"}}, false},
	{"nothing", [][]string{{}}, false},
}

// tight is a random gang with a few nodes of its own that may have room for it.
type tight struct {
	nodes [][]device
	cpus  []int
	// network has the devices that all these nodes reach.
	network []device
	// pods is what each pod wants, and asks the cpu of each.
	pods []wants
	asks []int
	// sharing says which pods share one claim. They are together on a node.
	sharing []bool
	// minimum is the number of pods that the gang needs to start.
	minimum int
	// racks is the number of racks. The gang needs to be in one of them, unless it is zero.
	racks int
	// limits are those of the gang's queue.
	limits map[string]int
	// subgroups are of the first pods. Each needs to be in one rack, and the other pods need not.
	subgroups
	// extended says that pods that want any devices ask for an extended resource.
	extended bool
	// begun has the places of the pods that run before. It is nil if none do.
	begun map[int]place
}

// place is what a pod has that runs.
type place struct {
	node, alternative int
	devices           []device
}

// rack returns the rack of a node.
func (c *tight) rack(node int) int { return node * c.racks / len(c.nodes) }

func drawTight(random *rand.Rand, racks int) *tight {
	c := &tight{racks: racks, limits: map[string]int{}}
	for range 2 + random.IntN(3) {
		var all []device
		for i := range 1 + random.IntN(4) {
			all = append(all, device{fmt.Sprint("gpu-", i), []string{"large", "small"}[random.IntN(2)], []string{"a", "b"}[random.IntN(2)], 0})
		}
		if random.IntN(2) == 0 {
			all = append(all, device{"whole", "whole", "a", 2}, device{"half-0", "half", "a", 1}, device{"half-1", "half", "a", 1})
		}
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		c.nodes, c.cpus = append(c.nodes, all), append(c.cpus, 1+random.IntN(6))
	}
	kinds := [3]wants{}
	for i := range kinds {
		kinds[i] = allWants[random.IntN(len(allWants))]
	}
	shared := random.IntN(6)
	for range 2 + random.IntN(5) {
		kind := random.IntN(len(kinds))
		c.pods, c.asks, c.sharing = append(c.pods, kinds[kind]), append(c.asks, 1+random.IntN(2)), append(c.sharing, kind == shared && kinds[kind].template != "nothing")
	}
	if c.minimum = len(c.pods); random.IntN(4) == 0 {
		c.minimum = 1 + random.IntN(len(c.pods))
	}
	for _, class := range []string{"gpu", "large", "small", "whole", "half"} {
		if random.IntN(3) == 0 {
			c.limits[class] = 1 + random.IntN(4)
		}
	}
	return c
}

// tighten reports whether all pods can run. Then it removes most of what one way to run them does not use.
func (c *tight) tighten(random *rand.Rand) bool {
	domains := max(1, c.racks)
	if c.count > 0 {
		domains = c.zones // the search tries the racks for each subgroup
	}
	for domain := range domains {
		search := tightSearch{
			tight: c, in: domain, cpus: slices.Clone(c.cpus), used: map[string]bool{}, parts: make([]int, len(c.nodes)), charged: map[string]int{}, together: -1,
			skips: len(c.pods) - c.minimum, rackOf: slices.Repeat([]int{-1}, c.count), left: make([]int, c.count),
		}
		if search.places = map[int]place{}; search.fits(0) {
			if c.begun != nil {
				c.drawBegun(random, search.places)
			}
			c.remove(random, search.cpus, search.used)
			return true
		}
	}
	return false
}

// remove removes most of the cpus that are left, and of the devices that are not used.
func (c *tight) remove(random *rand.Rand, left []int, used map[string]bool) {
	spare := func(id string) bool { return !used[id] && random.IntN(8) > 0 }
	for node := range c.nodes {
		c.cpus[node] -= left[node] * random.IntN(2)
		c.nodes[node] = slices.DeleteFunc(c.nodes[node], func(d device) bool { return d.parts == 0 && spare(c.id(node, d)) })
	}
	c.network = slices.DeleteFunc(c.network, func(d device) bool { return spare(d.name) })
}

// id returns the name of a device of a node among those of all nodes.
func (c *tight) id(node int, d device) string {
	if slices.Contains(c.network, d) {
		return d.name
	}
	return fmt.Sprint(node, d.name)
}

// tightSearch tries everything in a rack, or in a zone if there are subgroups.
type tightSearch struct {
	*tight
	in          int
	cpus, parts []int
	used        map[string]bool
	charged     map[string]int
	// together is the node of the pods that share a claim, or -1. Skips is the number of pods that need not run.
	together, skips int
	// rackOf has the rack of each subgroup, or -1, and left the number of its pods that do not run.
	rackOf, left []int
	// places has those of the pods so far.
	places map[int]place
}

// fits reports whether the pods from a pod on have room.
func (s *tightSearch) fits(pod int) bool {
	if pod == s.count*s.each && !s.started() {
		return false
	}
	if pod == len(s.pods) {
		return true
	}
	for node := range s.nodes {
		if !s.mayEnter(pod, s.rack(node)) || s.cpus[node] < s.asks[pod] || s.sharing[pod] && s.together >= 0 && s.together != node {
			continue
		}
		s.cpus[node] -= s.asks[pod]
		if s.inRack(pod, s.rack(node), func() bool { return s.fitsOn(pod, node) }) {
			return true
		}
		s.cpus[node] += s.asks[pod]
	}
	return s.skip(pod)
}

// skip reports whether the pods after a pod have room if this pod does not run.
func (s *tightSearch) skip(pod int) bool {
	if s.skips == 0 {
		return false
	}
	s.skips--
	if s.leave(pod, 1); s.fits(pod + 1) {
		return true
	}
	s.skips++
	s.leave(pod, -1)
	return false
}

func (s *tightSearch) fitsOn(pod, node int) bool {
	if s.sharing[pod] && s.together >= 0 {
		return s.fits(pod + 1)
	}
	if s.sharing[pod] {
		s.together = node
		defer func() { s.together = -1 }()
	}
	for alternative, classes := range s.pods[pod].alternatives {
		s.places[pod] = place{node: node, alternative: alternative}
		if s.take(pod, node, classes, "") {
			return true
		}
		delete(s.places, pod)
	}
	return false
}

// take takes a device of each class for a pod, and goes on to the next pod.
func (s *tightSearch) take(pod, node int, classes []string, model string) bool {
	if len(classes) == 0 {
		return s.fits(pod + 1)
	}
	for _, d := range slices.Concat(s.nodes[node], s.network) {
		id := s.id(node, d)
		if s.used[id] || !d.suits(classes[0]) || s.parts[node]+d.parts > 2 || s.pods[pod].same && model != "" && model != d.model || s.exceeds(d) {
			continue
		}
		s.used[id], s.parts[node] = true, s.parts[node]+d.parts
		s.charge(d, 1)
		before := s.places[pod]
		s.places[pod] = place{node, before.alternative, append(slices.Clone(before.devices), d)}
		if s.take(pod, node, classes[1:], d.model) {
			return true
		}
		s.places[pod] = before
		delete(s.used, id)
		s.parts[node] -= d.parts
		s.charge(d, -1)
	}
	return false
}

// charge charges a device to each class that selects it and that the quota limits.
func (s *tightSearch) charge(d device, n int) {
	for class := range s.limits {
		if d.suits(class) {
			s.charged[class] += n
		}
	}
}

func (s *tightSearch) exceeds(d device) bool {
	for class, limit := range s.limits {
		if d.suits(class) && s.charged[class] >= limit {
			return true
		}
	}
	return false
}

func TestAGangRunsIfThereAreNodesAndDevicesForAllOfIt(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRAPartitionableDevices, true)
	compareWithAll(t, 4, 25, func(random *rand.Rand, seed uint64) *tight { return drawTight(random, int(seed%2)*2) })
}

// compareWithAll compares which of some random gangs run, so many in each cluster, with a search that tries everything.
func compareWithAll(t *testing.T, seeds uint64, gangs int, draw func(random *rand.Rand, seed uint64) *tight) {
	t.Helper()
	runs, waits := 0, 0
	for seed := range clusters(seeds) {
		random, c := rand.New(rand.NewPCG(seed, 5)), &tightCluster{configuration: sample()}
		want := map[string]int{}
		for i := range gangs {
			gang := draw(random, seed)
			if gang.racks > 0 {
				c.configuration = withTopology(sample())
			}
			if c.all = append(c.all, gang); gang.tighten(random) {
				want[fmt.Sprint("gang-", i)] = gang.minimum
			}
		}
		got := c.run(t)
		for i, gang := range c.all {
			if name := fmt.Sprint("gang-", i); got[name] < want[name] || want[name] == 0 && got[name] > 0 {
				t.Errorf("seed %d: %d pods of %s run, want at least %d: %+v", seed, got[name], name, want[name], gang)
			}
		}
		runs, waits = runs+len(want), waits+len(c.all)-len(want)
	}
	if runs < (runs+waits)/5 || waits < (runs+waits)/5 {
		t.Errorf("%d gangs run, and %d wait: these are no interesting cases", runs, waits)
	}
}
