// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// borrowed is a random zone of racks with two nodes each. Pods of queue theirs hold some of the devices, and a gang of queue ours takes back what it deserves.
type borrowed struct {
	drawnRacks
	// held has the devices of each node that theirs holds. drawnRacks.free has the others, as large ones.
	held []int
	// launchers is the number of pods of the gang without devices.
	launchers int
	// deserved is what ours deserves, and spare what theirs holds above its own. The gang starts with the minimum.
	deserved, spare, minimum int
}

// likeness says what a gang is like: all its pods are its minimum, or fewer, or all of them in two halves, each of which has to be in one rack.
type likeness int

const (
	allPods likeness = iota
	fewerPods
	twoHalves
)

func drawBorrowed(random *rand.Rand, as likeness) *borrowed {
	b := &borrowed{launchers: random.IntN(3)}
	g := drawnGang{name: "gang", pods: 1 + random.IntN(7), tier: 1 + random.IntN(2)}
	b.gangs, b.minimum = []drawnGang{g}, g.pods
	topology := fmt.Sprintf(", networkTopology: {mode: hard, highestTierAllowed: %d}", g.tier)
	switch as {
	case fewerPods:
		b.minimum, b.launchers = 1+random.IntN(g.pods), 0
	case twoHalves:
		g.parts, g.pods, g.tier = 2, g.pods+g.pods%2, 1
		b.gangs[0], b.minimum, b.launchers = g, g.pods, 0
		topology = fmt.Sprintf(", subGroupPolicy: [{name: half, subGroupSize: %d, minSubGroups: 2, matchLabelKeys: [half], networkTopology: {mode: hard, highestTierAllowed: 1}}]", g.pods/2)
	}
	racks, used, total := 2+random.IntN(2), 0, 0
	for n := range 2 * racks {
		devices := 1 + random.IntN(3)
		held := max(random.IntN(devices+1), random.IntN(devices+1))
		b.node(n, devices, held)
		used, total = used+held, total+devices
	}
	var names []string
	for n := range racks {
		names = append(names, fmt.Sprintf("{type: HyperNode, selector: {exactMatch: {name: rack-%d}}}", n))
		b.add(`{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: rack-%d, uid: rack-%[1]d}, spec: {tier: 1, members: [{type: Node, selector: {exactMatch: {name: node-%d}}}, {type: Node, selector: {exactMatch: {name: node-%d}}}]}}`, n, 2*n, 2*n+1)
	}
	b.add(`{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: zone, uid: zone}, spec: {tier: 2, members: [%s]}}`, strings.Join(names, ", "))
	b.deserved = random.IntN(total + 1)
	b.spare = max(0, used-(total-b.deserved))
	b.queues(total)
	b.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: gang, namespace: team, uid: gang}, spec: {minMember: %d, queue: ours%s}}`, b.minimum+b.launchers, topology)
	for p := range g.pods + b.launchers {
		asks := aClaim
		if p >= g.pods {
			asks = `containers: [{name: main, image: training, resources: {requests: {cpu: "1"}}}]`
		}
		b.pod("gang", p, "", asks)
	}
	return b
}

func (b *borrowed) queues(total int) {
	b.add(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
	b.add(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}}`)
	b.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one, namespace: team}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 1}}]}}}}`)
	b.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root, uid: root}, spec: {weight: 1}}`)
	for name, deserved := range map[string]int{"ours": b.deserved, "theirs": total - b.deserved} {
		b.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: %s, uid: %[1]s}, spec: {weight: 1, parent: root, dra: {deserved: {gpu: {count: %d}}}}}`, name, deserved)
	}
}

// node adds a node. An independent pod of theirs runs on each held device.
func (b *borrowed) node(n, devices, held int) {
	amounts := `{cpu: "64", memory: 64Gi, pods: "110"}`
	b.add(`{apiVersion: v1, kind: Node, metadata: {name: node-%d, uid: node-%[1]d, labels: {kubernetes.io/hostname: node-%[1]d}}, status: {capacity: %[2]s, allocatable: %[2]s, conditions: [{type: Ready, status: "True"}]}}`, n, amounts)
	var all []string
	for i := range devices {
		all = append(all, fmt.Sprintf("{name: gpu-%d}", i))
	}
	b.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: node-%d-gpus, uid: slice-%[1]d}, spec: {driver: gpu.example.com, nodeName: node-%[1]d, pool: {name: node-%[1]d, generation: 1, resourceSliceCount: 1}, devices: [%s]}}`, n, strings.Join(all, ", "))
	for device := range held {
		group := fmt.Sprintf("theirs-%d-%d", n, device)
		b.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: %s, namespace: team, uid: %[1]s}, spec: {minMember: 1, queue: theirs}, status: {phase: Running}}`, group)
		b.runs(group, 0, n, device)
	}
	b.held, b.free = append(b.held, held), append(b.free, [2]int{devices - held, 0})
}

// evictions returns the least number of pods to evict so that the gang starts, and whether it may start.
func (b *borrowed) evictions() (least int, starts bool) {
	g := b.gangs[0]
	size := 2
	if g.tier == 2 {
		size = len(b.held)
	}
	for from := 0; from < len(b.held); from += size {
		free, held := 0, 0
		for n := from; n < from+size; n++ {
			free, held = free+b.free[n][0], held+b.held[n]
		}
		needed := max(0, b.minimum-free)
		mayTake := needed == 0 || needed <= min(b.spare, held) && b.minimum <= b.deserved
		if mayTake && (!starts || needed < least) {
			least, starts = needed, true
		}
	}
	return least, starts
}

func TestAGangWithATopologyTakesBackAsLittleAsOneDomainLacks(t *testing.T) {
	evicting, waiting, drawn := 0, 0, clusters(40)
	for seed := range drawn {
		b := drawBorrowed(rand.New(rand.NewPCG(seed, 3)), allPods)
		outcome := b.run(t)
		gone, want := 0, 0
		for _, w := range outcome {
			gone += len(w.Evicted)
		}
		least, starts := b.evictions()
		if starts {
			want = b.gangs[0].pods + b.launchers
		}
		if is := outcome["gang"]; len(is.Pods) != want || gone != least {
			t.Errorf("seed %d: %d pods of %+v run and %d are evicted, want %d and %d: free %v, held %v, deserved %d, spare %d: %+v", seed, len(is.Pods), b.gangs[0], gone, want, least, b.free, b.held, b.deserved, b.spare, is)
		}
		if err := b.together(outcome["gang"]); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		switch {
		case !starts:
			waiting++
		case least > 0:
			evicting++
		}
	}
	if fewest := uint64(min(evicting, waiting)); fewest < drawn/5 {
		t.Errorf("%d gangs take something back, and %d wait: these are no interesting cases", evicting, waiting)
	}
}

// evictionsOfHalves is evictions for a gang of two halves. They may be in one rack.
func (b *borrowed) evictionsOfHalves() (least int, starts bool) {
	half := b.gangs[0].pods / 2
	for first := 0; first < len(b.held); first += 2 {
		for second := 0; second < len(b.held); second += 2 {
			needed, fits := 0, true
			for rack := 0; rack < len(b.held); rack += 2 {
				pods := 0
				if rack == first {
					pods += half
				}
				if rack == second {
					pods += half
				}
				lacks := max(0, pods-b.free[rack][0]-b.free[rack+1][0])
				needed, fits = needed+lacks, fits && lacks <= b.held[rack]+b.held[rack+1]
			}
			mayTake := needed == 0 || needed <= b.spare && 2*half <= b.deserved
			if fits && mayTake && (!starts || needed < least) {
				least, starts = needed, true
			}
		}
	}
	return least, starts
}

func TestEachHalfOfAGangTakesBackAsLittleAsItsRackLacks(t *testing.T) {
	evicting, waiting, drawn := 0, 0, clusters(40)
	for seed := range drawn {
		b := drawBorrowed(rand.New(rand.NewPCG(seed, 5)), twoHalves)
		outcome := b.run(t)
		is, gone, want := outcome["gang"], 0, 0
		for _, w := range outcome {
			gone += len(w.Evicted)
		}
		least, starts := b.evictionsOfHalves()
		if starts {
			want = b.gangs[0].pods
		}
		if len(is.Pods) != want || gone != least {
			t.Errorf("seed %d: %d pods of %+v run and %d are evicted, want %d and %d: free %v, held %v, deserved %d, spare %d: %+v", seed, len(is.Pods), b.gangs[0], gone, want, least, b.free, b.held, b.deserved, b.spare, is)
		}
		racks := map[string]int{} // of halves
		for _, pod := range is.Pods {
			half := fmt.Sprint((pod.Name[len(pod.Name)-1] - '0') % 2)
			if rack, known := racks[half]; known && rack != rackOf(pod.Node) {
				t.Errorf("seed %d: half %s is in several racks: %+v", seed, half, is)
			}
			racks[half] = rackOf(pod.Node)
		}
		switch {
		case !starts:
			waiting++
		case least > 0:
			evicting++
		}
	}
	if fewest := uint64(min(evicting, waiting)); fewest < drawn/5 {
		t.Errorf("%d gangs take something back, and %d wait: these are no interesting cases", evicting, waiting)
	}
}

// TestAGangThatStartsWithFewerPodsTakesBackNothingInVain: it starts if its minimum may, and takes back one device for each of its pods that the domain had no free one for.
func TestAGangThatStartsWithFewerPodsTakesBackNothingInVain(t *testing.T) {
	for seed := range clusters(15) {
		b := drawBorrowed(rand.New(rand.NewPCG(seed, 4)), fewerPods)
		outcome := b.run(t)
		is, gone := outcome["gang"], 0
		for _, w := range outcome {
			gone += len(w.Evicted)
		}
		free := 0
		for n := range b.held {
			if b.gangs[0].tier == 2 || len(is.Pods) > 0 && slices.Contains([]string{fmt.Sprint("node-", n), fmt.Sprint("node-", n^1)}, is.Pods[0].Node) {
				free += b.free[n][0]
			}
		}
		_, starts := b.evictions()
		if started := len(is.Pods) >= b.minimum; started != starts || !started && len(is.Pods)+gone > 0 || gone != max(0, len(is.Pods)-free) || gone > b.spare {
			t.Errorf("seed %d: %d pods of %+v with the minimum %d run, and %d are evicted; starts %t: free %v, held %v, deserved %d, spare %d: %+v", seed, len(is.Pods), b.gangs[0], b.minimum, gone, starts, b.free, b.held, b.deserved, b.spare, is)
		}
		if err := b.together(is); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// rackOf returns the rack of a node. Each has two.
func rackOf(node string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(node, "node-"))
	if err != nil {
		panic(err)
	}
	return n / 2
}

// together returns an error if the pods of a gang are in two racks although they must be in one.
func (b *borrowed) together(w Workload) error {
	racks := map[int]bool{}
	for _, pod := range w.Pods {
		racks[rackOf(pod.Node)] = true
	}
	if b.gangs[0].tier == 1 && len(racks) > 1 {
		return fmt.Errorf("the gang is in %v", racks)
	}
	return nil
}

// TestAGangTakesBackOneOfManyRacks: the share of the effort that each of hundreds of small racks could have by its size does not suffice to place the gang.
func TestAGangTakesBackOneOfManyRacks(t *testing.T) {
	s := shape{Nodes: 256, Devices: 16, Jobs: 1, Pods: 16, Queues: 2, Limit: 4096, Running: 4096, Reclaim: true, Rack: 1, Tier: 1}
	var text strings.Builder
	if err := shapeTemplate.Execute(&text, s); err != nil {
		t.Fatal(err)
	}
	out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, text.String()), Configuration: s.with(sample())}, nil)
	if err != nil {
		t.Fatal(err)
	}
	running, evicted := map[string]int{}, 0
	for _, w := range out.Workloads {
		evicted += len(w.Evicted)
		for _, pod := range w.Pods {
			if w.Name == "job-0" {
				running[pod.Node]++
			}
		}
	}
	if len(running) != 1 || evicted != s.Pods {
		t.Errorf("the gang runs with so many pods on nodes: %v, and %d pods are evicted, want %d pods on one node, and as many evicted", running, evicted, s.Pods)
	}
}
