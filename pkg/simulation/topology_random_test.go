// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// drawnRacks is a random zone of racks with two nodes each, and gangs that ask for large or small devices there.
type drawnRacks struct {
	racks
	// free has the devices that are free on each node, and room what the quota has left, large ones first.
	free [][2]int
	room [2]int
	// used is the number of large devices that others hold.
	used  int
	gangs []drawnGang
}

// drawnGang is a gang. Each of its parts has to be in one rack, or all of it within a tier.
type drawnGang struct {
	name string
	// accepts are the models that a pod accepts, in order. It asks for counts devices.
	accepts []int
	counts  int
	pods    int
	parts   int
	tier    int
}

var models = [2]string{"large", "small"}

func drawGang(random *rand.Rand, name string, accepts ...[]int) drawnGang {
	g := drawnGang{name: name, accepts: accepts[random.IntN(len(accepts))], counts: 1 + random.IntN(2), pods: 1 + random.IntN(8), parts: 1, tier: 1 + random.IntN(2)}
	if random.IntN(3) == 0 { // with one model, it is simple to decide which parts fit
		g.parts, g.tier, g.accepts = 1+random.IntN(3), 2, g.accepts[:1]
		g.pods = g.parts * (1 + random.IntN(3))
	}
	return g
}

func drawRacks(random *rand.Rand, room int, gangs ...drawnGang) *drawnRacks {
	d := &drawnRacks{room: [2]int{random.IntN(room), random.IntN(room)}, gangs: gangs}
	d.cluster(random)
	for _, g := range gangs {
		d.addGang(g)
	}
	return d
}

func (d *drawnRacks) addGang(g drawnGang) {
	var alternatives []string
	for _, model := range g.accepts {
		alternatives = append(alternatives, fmt.Sprintf("{name: %s, deviceClassName: %[1]s, count: %d}", models[model], g.counts))
	}
	request := "{name: r, firstAvailable: [" + strings.Join(alternatives, ", ") + "]}"
	if len(alternatives) == 1 {
		request = fmt.Sprintf("{name: r, exactly: {deviceClassName: %s, count: %d}}", models[g.accepts[0]], g.counts)
	}
	d.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: %s, namespace: team}, spec: {spec: {devices: {requests: [%s]}}}}`, g.name, request)
	topology := fmt.Sprintf(", networkTopology: {mode: hard, highestTierAllowed: %d}", g.tier)
	if g.parts > 1 {
		topology += fmt.Sprintf(", subGroupPolicy: [{name: part, subGroupSize: %d, minSubGroups: %d, matchLabelKeys: [part], networkTopology: {mode: hard, highestTierAllowed: 1}}]", g.pods/g.parts, g.parts)
	}
	d.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: %s, namespace: team, uid: %[1]s}, spec: {minMember: %d, queue: team%s}}`, g.name, g.pods, topology)
	for p := range g.pods {
		d.add(`{apiVersion: v1, kind: Pod, metadata: {name: %s-%d, namespace: team, uid: %[1]s-%[2]d, labels: {part: part-%[3]d}, annotations: {scheduling.k8s.io/group-name: %[1]s}}, spec: {schedulerName: volcano, %[4]s}}`,
			g.name, p, g.part(p), strings.Replace(aClaim, "TemplateName: one", "TemplateName: "+g.name, 1))
	}
}

// part returns the part of a pod.
func (g drawnGang) part(pod int) int { return pod % g.parts }

// cluster adds nodes, racks, classes, the queue, and pods of others that use devices.
func (d *drawnRacks) cluster(random *rand.Rand) {
	d.add(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
	d.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root, uid: root}, spec: {weight: 1}}`)
	for _, model := range models {
		d.add(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: %s}, spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "%[1]s"'}}]}}`, model)
	}
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

// fits reports whether a gang can start. A pod takes devices of one model of one node, so that pods of different models never compete.
func (d *drawnRacks) fits(g drawnGang) bool {
	if g.parts > 1 {
		parts := 0
		for rack := range len(d.free) / 2 {
			parts += d.podsOn(g, d.free[2*rack:2*rack+2], 1<<20) / (g.pods / g.parts)
		}
		return parts >= g.parts && g.pods*g.counts <= d.room[g.accepts[0]]
	}
	if g.tier == 2 {
		return d.podsOn(g, d.free, 1) >= g.pods
	}
	for rack := range len(d.free) / 2 {
		if d.podsOn(g, d.free[2*rack:2*rack+2], 1) >= g.pods {
			return true
		}
	}
	return false
}

// podsOn returns how many pods of a gang some nodes can have with that many times the quota.
func (d *drawnRacks) podsOn(g drawnGang, nodes [][2]int, times int) (pods int) {
	for _, model := range g.accepts {
		of := 0
		for _, free := range nodes {
			of += free[model] / g.counts
		}
		pods += min(of, d.room[model]*times/g.counts)
	}
	return pods
}

// run returns what becomes of each gang, by name.
func (d *drawnRacks) run(t *testing.T) map[string]Workload {
	t.Helper()
	out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, d.String()), Configuration: withTopology(sample())}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Workload{}
	for _, w := range out.Workloads {
		all[w.Name] = w
	}
	return all
}

func chargedDevices(w Workload) (n int) {
	for _, amount := range w.Charged {
		if amount.Dimension.Kind != "Resource" {
			n += int(amount.Amount.Value())
		}
	}
	return n
}

func TestAGangStartsIfAndOnlyIfSomeDomainAndTheQuotaHaveRoom(t *testing.T) {
	starts, drawn := 0, clusters(60)
	for seed := range drawn {
		random := rand.New(rand.NewPCG(seed, 1))
		gang := drawGang(random, "gang", []int{0}, []int{1}, []int{0, 1}, []int{1, 0})
		d := drawRacks(random, 20, gang)
		is, want := d.run(t)["gang"], 0
		if d.fits(gang) {
			want, starts = gang.pods, starts+1
		}
		if charged := chargedDevices(is); len(is.Pods) != want || charged != want*gang.counts {
			t.Errorf("seed %d: %d pods run, charged %d devices; want %d pods of %+v: free %v, room %v: %+v", seed, len(is.Pods), charged, want, gang, d.free, d.room, is)
		}
	}
	if uint64(starts) < drawn/4 || uint64(starts) > drawn*3/4 {
		t.Errorf("%d of %d gangs start: these are no interesting cases", starts, drawn)
	}
}

// TestGangsTogetherKeepToDomainsDevicesAndQuotas: each of several gangs runs as a whole in its domain or not at all. None waits that has room in what the others leave.
func TestGangsTogetherKeepToDomainsDevicesAndQuotas(t *testing.T) {
	waits, drawn := 0, clusters(40)
	for seed := range drawn {
		random := rand.New(rand.NewPCG(seed, 2))
		var gangs []drawnGang
		for _, name := range []string{"gang-a", "gang-b", "gang-c", "gang-d"} {
			gangs = append(gangs, drawGang(random, name, []int{0}, []int{1}))
		}
		limited := seed%2 == 0
		room := 1 << 20
		if limited {
			room = 16
		}
		d := drawRacks(random, room, gangs...)
		outcome := d.run(t)
		for _, g := range gangs {
			if err := d.place(g, outcome[g.name]); err != nil {
				t.Errorf("seed %d: %v of %+v: free %v, room %v: %+v", seed, err, g, d.free, d.room, outcome[g.name])
			}
		}
		for _, g := range gangs {
			if len(outcome[g.name].Pods) > 0 {
				continue
			}
			waits++
			if !limited && d.fits(g) { // a quota may be kept for a gang that has been let in
				t.Errorf("seed %d: %+v waits, although free are %v: %+v", seed, g, d.free, outcome[g.name])
			}
		}
	}
	if uint64(waits) < drawn || uint64(waits) > drawn*3 {
		t.Errorf("%d of %d gangs wait: these are no interesting cases", waits, 4*drawn)
	}
}

// place takes the devices and the quota of a gang from what is left. The error says which rule the outcome breaks.
func (d *drawnRacks) place(g drawnGang, is Workload) error {
	if len(is.Pods) != 0 && len(is.Pods) != g.pods || chargedDevices(is) != len(is.Pods)*g.counts {
		return fmt.Errorf("%d pods run and are charged %d devices", len(is.Pods), chargedDevices(is))
	}
	racks := map[int]int{}
	for _, pod := range is.Pods {
		var node, number int
		if _, err := fmt.Sscanf(pod.Node, "node-%d", &node); err != nil {
			return err
		}
		if _, err := fmt.Sscanf(pod.Name, g.name+"-%d", &number); err != nil {
			return err
		}
		model, part := g.accepts[0], g.part(number)
		d.free[node][model] -= g.counts
		d.room[model] -= g.counts
		if rack, found := racks[part]; found && rack != node/2 && (g.tier == 1 || g.parts > 1) {
			return fmt.Errorf("part %d is in racks %d and %d", part, rack, node/2)
		}
		racks[part] = node / 2
		if d.free[node][model] < 0 || d.room[model] < 0 {
			return fmt.Errorf("more devices are in use than there are, or than the quota allows, on node %d", node)
		}
	}
	return nil
}
