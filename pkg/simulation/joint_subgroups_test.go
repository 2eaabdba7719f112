// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
)

// subgroups are those of a gang.
type subgroups struct {
	// count is their number, and each the number of pods of each of them. The pods of the first subgroup come first.
	count, each int
	// size is the number of pods that a subgroup needs to start, and least the number of subgroups that the gang needs.
	size, least int
	// zones is the number of zones. Rack n is in zone n modulo zones. Zone says that the gang needs to be in one of them.
	zones int
	zone  bool
}

func (s subgroups) has(pod int) bool { return pod < s.count*s.each }

// topology returns the part of the spec of the PodGroup.
func (s subgroups) topology() string {
	topology := fmt.Sprintf(", subGroupPolicy: [{name: part, subGroupSize: %d, minSubGroups: %d, matchLabelKeys: [part], networkTopology: {mode: hard, highestTierAllowed: 1}}]", s.size, s.least)
	if s.zone {
		topology += ", networkTopology: {mode: hard, highestTierAllowed: 2}"
	}
	return topology
}

// drawSubgroups makes subgroups of most pods of a gang.
func (c *tight) drawSubgroups(random *rand.Rand) {
	c.count = 1 + random.IntN(min(3, len(c.pods)))
	c.each = len(c.pods) / c.count
	c.size, c.least, c.zone = c.each-random.IntN(2)*random.IntN(c.each), c.count-random.IntN(2)*random.IntN(c.count+1), random.IntN(2) == 0
	c.zones = 1 + random.IntN(2)
	if c.minimum = len(c.pods); random.IntN(3) == 0 {
		c.minimum = 1 + random.IntN(len(c.pods))
	}
}

// mayEnter reports whether a pod may be in a rack.
func (s *tightSearch) mayEnter(pod, rack int) bool {
	switch {
	case s.zone && rack%s.zones != s.in:
		return false
	case s.has(pod):
		of := s.rackOf[pod/s.each]
		return of < 0 || of == rack
	default:
		return s.count > 0 || rack == s.in
	}
}

// inRack goes on with a pod in a rack.
func (s *tightSearch) inRack(pod, rack int, goOn func() bool) bool {
	if !s.has(pod) {
		return goOn()
	}
	of := &s.rackOf[pod/s.each]
	before := *of
	*of = rack
	if goOn() {
		return true
	}
	*of = before
	return false
}

// leave counts a pod that does not run.
func (s *tightSearch) leave(pod, n int) {
	if s.has(pod) {
		s.left[pod/s.each] += n
	}
}

// started reports whether the gang has enough subgroups, and none of the pods of those that do not start.
func (s *tightSearch) started() bool {
	started := 0
	for _, left := range s.left {
		switch {
		case s.each-left >= s.size:
			started++
		case left < s.each:
			return false
		}
	}
	return started >= s.least
}

func TestAGangRunsIfThereAreNodesAndDevicesForItsSubgroupsInRacks(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRAPartitionableDevices, true)
	compareWithAll(t, 4, 25, func(random *rand.Rand, _ uint64) *tight {
		gang := drawTight(random, 2+random.IntN(3))
		gang.drawSubgroups(random)
		return gang
	})
}

// TestAGangRunsIfTheNetworkHasTheDevicesThatItsNodesLack: a pod must leave a device that all nodes reach to a pod on a node with too few of its own.
func TestAGangRunsIfTheNetworkHasTheDevicesThatItsNodesLack(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRAPartitionableDevices, true)
	compareWithAll(t, 8, 5, drawNetworked)
}

// drawNetworked draws a gang whose nodes have too few devices of their own.
func drawNetworked(random *rand.Rand, seed uint64) *tight {
	gang := drawTight(random, int(seed%2)*2)
	for node := range gang.nodes {
		gang.nodes[node], gang.cpus[node] = gang.nodes[node][:random.IntN(2)], 2+random.IntN(3)
	}
	for i := range 2 + random.IntN(5) {
		gang.network = append(gang.network, device{fmt.Sprint("network-", i), []string{"large", "small"}[random.IntN(2)], []string{"a", "b"}[random.IntN(2)], 0})
	}
	clear(gang.limits)
	clear(gang.sharing) // the pods on several nodes may share a claim for such a device
	if gang.racks > 0 && random.IntN(2) == 0 {
		gang.drawSubgroups(random)
	}
	return gang
}
