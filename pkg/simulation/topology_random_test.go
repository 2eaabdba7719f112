// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// drawnRacks is a random zone of racks with two nodes each, and one gang that asks for devices of large or small ones there.
type drawnRacks struct {
	racks
	// free has the devices that are free on each node, and room what the quota has left, large ones first.
	free [][2]int
	room [2]int
	// accepts are the models that a pod accepts, in order, each counts devices.
	accepts []int
	counts  int
	// pods is the size of the gang. It consists of parts, each in one rack, or has to be in one rack as a whole, or in the zone.
	pods, parts int
	tier        int
	// used is what others hold.
	used int
}

var models = [2]string{"large", "small"}

func drawRacks(random *rand.Rand) *drawnRacks {
	d := &drawnRacks{counts: 1 + random.IntN(2), parts: 1, tier: 1 + random.IntN(2)}
	d.accepts = [][]int{{0}, {1}, {0, 1}, {1, 0}}[random.IntN(4)]
	d.pods = 1 + random.IntN(8)
	if random.IntN(3) == 0 { // only what is simple to decide: see fits
		d.parts, d.tier, d.accepts = 1+random.IntN(3), 2, d.accepts[:1]
		d.pods = d.parts * (1 + random.IntN(3))
	}
	d.room = [2]int{random.IntN(20), random.IntN(20)}
	d.cluster(random)
	asks := strings.Replace(aClaim, "TemplateName: one", "TemplateName: gpu", 1)
	topology := fmt.Sprintf(", networkTopology: {mode: hard, highestTierAllowed: %d}", d.tier)
	if d.parts > 1 {
		topology += fmt.Sprintf(", subGroupPolicy: [{name: part, subGroupSize: %d, minSubGroups: %d, matchLabelKeys: [part], networkTopology: {mode: hard, highestTierAllowed: 1}}]", d.pods/d.parts, d.parts)
	}
	d.gang("gang", topology, asks, d.pods)
	text := d.String()
	d.Reset()
	for p := range d.pods {
		text = strings.Replace(text, fmt.Sprintf("labels: {half: half-%d}, annotations: {scheduling.k8s.io/group-name: gang}", p%2),
			fmt.Sprintf("labels: {part: part-%d}, annotations: {scheduling.k8s.io/group-name: gang}", p%d.parts), 1)
	}
	d.add("%s", text)
	return d
}

// cluster adds nodes, racks, classes, a claim template, the queue, and pods of others that use devices.
func (d *drawnRacks) cluster(random *rand.Rand) {
	d.add(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
	d.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root, uid: root}, spec: {weight: 1}}`)
	var alternatives []string
	for _, model := range models {
		d.add(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: %s}, spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "%[1]s"'}}]}}`, model)
	}
	for _, model := range d.accepts {
		alternatives = append(alternatives, fmt.Sprintf("{name: %s, deviceClassName: %[1]s, count: %d}", models[model], d.counts))
	}
	request := "{name: r, firstAvailable: [" + strings.Join(alternatives, ", ") + "]}"
	if len(alternatives) == 1 {
		request = fmt.Sprintf("{name: r, exactly: {deviceClassName: %s, count: %d}}", models[d.accepts[0]], d.counts)
	}
	d.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpu, namespace: team}, spec: {spec: {devices: {requests: [%s]}}}}`, request)
	d.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one, namespace: team}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: large, count: 1}}]}}}}`)
	d.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: other, namespace: team, uid: other}, spec: {minMember: 1, queue: team}, status: {phase: Running}}`)
	racks := 2 + random.IntN(2)
	var names []string
	for n := range 2 * racks {
		d.node(random, n)
	}
	for n := range racks {
		names = append(names, fmt.Sprintf("{type: HyperNode, selector: {exactMatch: {name: rack-%d}}}", n))
		d.add(`{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: rack-%d, uid: rack-%[1]d}, spec: {tier: 1, members: [{type: Node, selector: {exactMatch: {name: node-%d}}}, {type: Node, selector: {exactMatch: {name: node-%d}}}]}}`, n, 2*n, 2*n+1)
	}
	d.add(`{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: zone, uid: zone}, spec: {tier: 2, members: [%s]}}`, strings.Join(names, ", "))
	d.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: team, uid: team}, spec: {weight: 1, parent: root, dra: {capability: {large: {count: %d}, small: {count: %d}}}}}`, d.room[0]+d.used, d.room[1])
}

// node adds a node with some devices. A pod of others may use the first large one.
func (d *drawnRacks) node(random *rand.Rand, n int) {
	amounts := `{cpu: "64", memory: 64Gi, pods: "110"}`
	d.add(`{apiVersion: v1, kind: Node, metadata: {name: node-%d, uid: node-%[1]d, labels: {kubernetes.io/hostname: node-%[1]d}}, status: {capacity: %[2]s, allocatable: %[2]s, conditions: [{type: Ready, status: "True"}]}}`, n, amounts)
	free := [2]int{random.IntN(5), random.IntN(5)}
	var all []string
	for model, count := range free {
		for i := range count {
			all = append(all, fmt.Sprintf("{name: %s-%d, attributes: {model: {string: %[1]s}}}", models[model], i))
		}
	}
	if len(all) > 0 {
		d.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: node-%d-gpus, uid: slice-%[1]d}, spec: {driver: gpu.example.com, nodeName: node-%[1]d, pool: {name: node-%[1]d, generation: 1, resourceSliceCount: 1}, devices: [%s]}}`, n, strings.Join(all, ", "))
	}
	if free[0] > 0 && random.IntN(2) == 0 {
		d.pod("other", n, fmt.Sprint("node-", n), aClaim)
		d.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: other-%d, namespace: team, uid: claim-other-%[1]d, annotations: {resource.kubernetes.io/pod-claim-name: gpu}, ownerReferences: [{apiVersion: v1, kind: Pod, name: other-%[1]d, uid: other-%[1]d, controller: true}]}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: large, count: 1}}]}}, status: {allocation: {devices: {results: [{request: r, driver: gpu.example.com, pool: node-%[1]d, device: large-0}]}}, reservedFor: [{resource: pods, name: other-%[1]d, uid: other-%[1]d}]}}`, n)
		free[0]--
		d.used++
	}
	d.free = append(d.free, free)
}

// fits reports whether the gang can start. A pod takes devices of one model of one node, so that pods of different models never compete.
func (d *drawnRacks) fits() bool {
	if d.parts > 1 {
		parts, size := 0, d.pods/d.parts
		for rack := range len(d.free) / 2 {
			parts += d.podsOn(d.free[2*rack:2*rack+2], 1<<20) / size
		}
		return parts >= d.parts && d.pods*d.counts <= d.room[d.accepts[0]]
	}
	if d.tier == 2 {
		return d.podsOn(d.free, 1) >= d.pods
	}
	for rack := range len(d.free) / 2 {
		if d.podsOn(d.free[2*rack:2*rack+2], 1) >= d.pods {
			return true
		}
	}
	return false
}

// podsOn returns how many pods of the gang some nodes can have with that many times the quota.
func (d *drawnRacks) podsOn(nodes [][2]int, times int) (pods int) {
	for _, model := range d.accepts {
		of := 0
		for _, free := range nodes {
			of += free[model] / d.counts
		}
		pods += min(of, d.room[model]*times/d.counts)
	}
	return pods
}

func TestAGangStartsIfAndOnlyIfSomeDomainAndTheQuotaHaveRoom(t *testing.T) {
	starts := 0
	for seed := range uint64(60) {
		d := drawRacks(rand.New(rand.NewPCG(seed, 1)))
		out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, d.String()), Configuration: withTopology()}, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want := 0
		if d.fits() {
			want, starts = d.pods, starts+1
		}
		pods, charged := 0, int64(0)
		for _, w := range out.Workloads {
			if w.Name != "gang" {
				continue
			}
			pods = len(w.Pods)
			for _, amount := range w.Charged {
				if amount.Dimension.Kind != "Resource" {
					charged += amount.Amount.Value()
				}
			}
		}
		if pods != want || charged != int64(want*d.counts) {
			t.Errorf("seed %d: %d pods run, charged %d devices; want %d pods of %d devices of %v each: free %v, room %v, tier %d, %d parts: %+v",
				seed, pods, charged, want, d.counts, d.accepts, d.free, d.room, d.tier, d.parts, out.Workloads)
		}
	}
	if starts < 15 || starts > 45 {
		t.Errorf("%d of 60 gangs start: these are no interesting cases", starts)
	}
}
