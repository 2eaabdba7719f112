// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
)

// drawBegun lets some pods run in their places.
func (c *tight) drawBegun(random *rand.Rand, places map[int]place) {
	for pod := range c.pods {
		if at, found := places[pod]; found && random.IntN(3) == 0 {
			c.begun[pod] = at
		}
	}
}

// begun adds the claim of a pod that runs, and returns what its object has then.
func (c *tightCluster) begun(gang string, pod int, of *tight, at place) (node, status string) {
	name, wants := fmt.Sprintf("%s-%d", gang, pod), of.pods[pod]
	node = fmt.Sprintf(", nodeName: %s-node-%d", gang, at.node)
	if wants.template == "nothing" {
		return node, ", status: {phase: Running}"
	}
	var results []string
	for i, d := range at.devices {
		request, pool := fmt.Sprint("r", i), fmt.Sprintf("%s-node-%d", gang, at.node)
		if first := wants.alternatives[0]; len(wants.alternatives) > 1 && first[i] != wants.alternatives[1][i] {
			request += []string{"/first", "/second"}[at.alternative]
		}
		if slices.Contains(of.network, d) {
			pool = gang + "-network"
		}
		results = append(results, fmt.Sprintf("{request: %s, driver: gpu.example.com, pool: %s, device: %s}", request, pool, d.name))
	}
	c.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: %s, namespace: team, uid: claim-%[1]s, finalizers: [resource.kubernetes.io/delete-protection], ownerReferences: [{apiVersion: v1, kind: Pod, name: %[1]s, uid: %[1]s, controller: true}]}, spec: %s, status: {allocation: {devices: {results: [%s]}}, reservedFor: [{resource: pods, name: %[1]s, uid: %[1]s}]}}`, name, wants.spec(), strings.Join(results, ", "))
	return node, fmt.Sprintf(", status: {phase: Running, resourceClaimStatuses: [{name: gpu, resourceClaimName: %s}]}", name)
}

// TestAGangGoesOnIfSomeOfItsPodsRun: the others are where they can be beside those. Some run in racks, which the others of their subgroups cannot choose any more.
func TestAGangGoesOnIfSomeOfItsPodsRun(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRAPartitionableDevices, true)
	compareWithAll(t, 4, 20, func(random *rand.Rand, seed uint64) *tight {
		gang := drawTight(random, int(seed%4)) // seeds 0 and 1 have no racks, or one
		if gang.racks > 1 {
			gang.drawSubgroups(random)
		}
		clear(gang.sharing)
		gang.begun = map[int]place{}
		return gang
	})
}

// TestAGangRunsIfThereAreDevicesForItsExtendedResources: the scheduler makes the claims for these when it has chosen nodes.
func TestAGangRunsIfThereAreDevicesForItsExtendedResources(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRAPartitionableDevices, true)
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRAExtendedResource, true)
	compareWithAll(t, 3, 20, func(random *rand.Rand, seed uint64) *tight {
		gang := drawTight(random, int(seed))
		if gang.extended = true; gang.racks > 1 {
			gang.drawSubgroups(random)
		}
		return gang
	})
}
