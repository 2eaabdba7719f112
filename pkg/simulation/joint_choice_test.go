// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"github.com/devicequota/devicequota/pkg/clusterstate"
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
	// pods is what each pod wants, and asks the cpu of each.
	pods []wants
	asks []int
	// limits are those of the gang's queue.
	limits map[string]int
}

func drawTight(random *rand.Rand) *tight {
	c := &tight{limits: map[string]int{}}
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
	for range 2 + random.IntN(5) {
		c.pods, c.asks = append(c.pods, kinds[random.IntN(len(kinds))]), append(c.asks, 1+random.IntN(2))
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
	left, used := slices.Clone(c.cpus), map[string]bool{}
	if !c.fits(0, left, used, make([]int, len(c.nodes)), map[string]int{}) {
		return false
	}
	for node := range c.nodes {
		c.cpus[node] -= left[node] * random.IntN(2)
		c.nodes[node] = slices.DeleteFunc(c.nodes[node], func(d device) bool {
			return !used[fmt.Sprint(node, d.name)] && d.parts == 0 && random.IntN(8) > 0
		})
	}
	return true
}

// fits reports whether the pods from a pod on have room beside what is used.
func (c *tight) fits(pod int, cpus []int, used map[string]bool, parts []int, charged map[string]int) bool {
	if pod == len(c.pods) {
		return true
	}
	for node := range c.nodes {
		if cpus[node] < c.asks[pod] {
			continue
		}
		cpus[node] -= c.asks[pod]
		for _, classes := range c.pods[pod].alternatives {
			if c.take(pod, node, classes, "", cpus, used, parts, charged) {
				return true
			}
		}
		cpus[node] += c.asks[pod]
	}
	return false
}

// take takes a device of each class for a pod, and goes on to the next pod.
func (c *tight) take(pod, node int, classes []string, model string, cpus []int, used map[string]bool, parts []int, charged map[string]int) bool {
	if len(classes) == 0 {
		return c.fits(pod+1, cpus, used, parts, charged)
	}
	for _, d := range c.nodes[node] {
		id := fmt.Sprint(node, d.name)
		if used[id] || !d.suits(classes[0]) || parts[node]+d.parts > 2 || c.pods[pod].same && model != "" && model != d.model || c.exceeds(d, charged) {
			continue
		}
		used[id], parts[node] = true, parts[node]+d.parts
		c.charge(d, charged, 1)
		if c.take(pod, node, classes[1:], d.model, cpus, used, parts, charged) {
			return true
		}
		delete(used, id)
		parts[node] -= d.parts
		c.charge(d, charged, -1)
	}
	return false
}

// charge charges a device to each class that selects it and that the quota limits.
func (c *tight) charge(d device, charged map[string]int, n int) {
	for class := range c.limits {
		if d.suits(class) {
			charged[class] += n
		}
	}
}

func (c *tight) exceeds(d device, charged map[string]int) bool {
	for class, limit := range c.limits {
		if d.suits(class) && charged[class] >= limit {
			return true
		}
	}
	return false
}

// tightCluster has the nodes and gangs of all.
type tightCluster struct {
	racks
	all []*tight
}

// run returns the number of pods of each gang that run.
func (c *tightCluster) run(t *testing.T) map[string]int {
	t.Helper()
	c.add(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
	c.add(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}}`)
	for _, size := range []string{"large", "small", "whole", "half"} {
		c.add(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: %s}, spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].size == "%[1]s"'}}]}}`, size)
	}
	for _, w := range allWants {
		c.template(w)
	}
	c.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root, uid: root}, spec: {weight: 1}}`)
	for i, gang := range c.all {
		c.gang(fmt.Sprint("gang-", i), gang)
	}
	out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, c.String()), Configuration: sample()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]int{}
	for _, w := range out.Workloads {
		runs[w.Name] += len(w.Pods)
	}
	return runs
}

// gang adds a gang with its queue and its nodes.
func (c *tightCluster) gang(name string, gang *tight) {
	var limits []string
	for _, class := range slices.Sorted(maps.Keys(gang.limits)) {
		limits = append(limits, fmt.Sprintf("%s: {count: %d}", class, gang.limits[class]))
	}
	c.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: %s, uid: %[1]s}, spec: {weight: 1, parent: root, dra: {capability: {%s}}}}`, name, strings.Join(limits, ", "))
	for n := range gang.nodes {
		c.node(name, n, gang)
	}
	c.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: %s, namespace: team, uid: %[1]s}, spec: {minMember: %d, queue: %[1]s}}`, name, len(gang.pods))
	for p, w := range gang.pods {
		claims, names := "", ""
		if w.template != "nothing" {
			claims, names = fmt.Sprintf(`, resourceClaims: [{name: gpu, resourceClaimTemplateName: %s}]`, w.template), `, claims: [{name: gpu}]`
		}
		c.pod(name, p, "", fmt.Sprintf(`nodeSelector: {gang: %s}, containers: [{name: main, image: training, resources: {requests: {cpu: "%d"}%s}}]%s`, name, gang.asks[p], names, claims))
	}
}

func (c *tightCluster) template(w wants) {
	var requests []string
	constraints := ""
	for i := range w.alternatives[0] {
		if len(w.alternatives) == 1 || w.alternatives[0][i] == w.alternatives[1][i] {
			requests = append(requests, fmt.Sprintf("{name: r%d, exactly: {deviceClassName: %s, count: 1}}", i, w.alternatives[0][i]))
			continue
		}
		requests = append(requests, fmt.Sprintf("{name: r%d, firstAvailable: [{name: first, deviceClassName: %s, count: 1}, {name: second, deviceClassName: %s, count: 1}]}", i, w.alternatives[0][i], w.alternatives[1][i]))
	}
	if w.same {
		constraints = `, constraints: [{matchAttribute: gpu.example.com/model}]`
	}
	if len(requests) > 0 {
		c.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: %s, namespace: team}, spec: {spec: {devices: {requests: [%s]%s}}}}`, w.template, strings.Join(requests, ", "), constraints)
	}
}

func (c *tightCluster) node(gang string, n int, of *tight) {
	name, amounts := fmt.Sprintf("%s-node-%d", gang, n), fmt.Sprintf(`{cpu: "%d", memory: 64Gi, pods: "110"}`, of.cpus[n])
	c.add(`{apiVersion: v1, kind: Node, metadata: {name: %s, uid: %[1]s, labels: {gang: %s}}, status: {capacity: %s, allocatable: %[3]s, conditions: [{type: Ready, status: "True"}]}}`, name, gang, amounts)
	var all []string
	counters := ""
	for _, d := range of.nodes[n] {
		consumes := ""
		if d.parts > 0 {
			consumes = fmt.Sprintf(`, consumesCounters: [{counterSet: gpu, counters: {parts: {value: "%d"}}}]`, d.parts)
			counters = `, sharedCounters: [{name: gpu, counters: {parts: {value: "2"}}}]`
		}
		all = append(all, fmt.Sprintf(`{name: %s, attributes: {size: {string: %s}, model: {string: %s}}%s}`, d.name, d.size, d.model, consumes))
	}
	if len(all) > 0 {
		c.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: %s, uid: slice-%[1]s}, spec: {driver: gpu.example.com, nodeName: %[1]s, pool: {name: %[1]s, generation: 1, resourceSliceCount: 1}, devices: [%s]%s}}`, name, strings.Join(all, ", "), counters)
	}
}

func TestAGangRunsIfThereAreNodesAndDevicesForAllOfIt(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRAPartitionableDevices, true)
	runs, waits := 0, 0
	for seed := range uint64(4) {
		random, c := rand.New(rand.NewPCG(seed, 5)), &tightCluster{}
		want := map[string]int{}
		for i := range 50 {
			gang := drawTight(random)
			if c.all = append(c.all, gang); gang.tighten(random) {
				want[fmt.Sprint("gang-", i)] = len(gang.pods)
			}
		}
		got := c.run(t)
		for i, gang := range c.all {
			if name := fmt.Sprint("gang-", i); got[name] != want[name] {
				t.Errorf("seed %d: %d pods of %s run, want %d: %+v", seed, got[name], name, want[name], gang)
			}
		}
		runs, waits = runs+len(want), waits+len(c.all)-len(want)
	}
	if runs < 40 || waits < 40 {
		t.Errorf("%d gangs run, and %d wait: these are no interesting cases", runs, waits)
	}
}
