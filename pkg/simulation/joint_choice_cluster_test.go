// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// tightCluster has the nodes and gangs of all.
type tightCluster struct {
	racks
	all           []*tight
	configuration string
}

// run returns the number of pods of each gang that run.
func (c *tightCluster) run(t *testing.T) map[string]int {
	t.Helper()
	c.add(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
	c.add(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {extendedResourceName: example.com/gpu, selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}}`)
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
	out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, c.String()), Configuration: c.configuration}, nil)
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
	c.slice(name+"-network", fmt.Sprintf("nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: gang, operator: In, values: [%s]}]}]}", name), gang.network)
	topology := ""
	for rack := range gang.racks {
		var members []string
		for n := range gang.nodes {
			if gang.rack(n) == rack {
				members = append(members, fmt.Sprintf("{type: Node, selector: {exactMatch: {name: %s-node-%d}}}", name, n))
			}
		}
		topology = hardRack
		c.add(`{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: %s-rack-%d, uid: %[1]s-rack-%[2]d}, spec: {tier: 1, members: [%s]}}`, name, rack, strings.Join(members, ", "))
	}
	if gang.count > 0 {
		topology = gang.topology()
		for zone := range gang.zones {
			c.zone(name, zone, gang)
		}
	}
	c.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: %s, namespace: team, uid: %[1]s}, spec: {minMember: %d, queue: %[1]s%[3]s}}`, name, gang.minimum, topology)
	if p := slices.Index(gang.sharing, true); p >= 0 {
		c.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: %s, namespace: team, uid: claim-%[1]s}, spec: %s}`, name, gang.pods[p].spec())
	}
	for p, w := range gang.pods {
		claims, names := "", ""
		if w.template != "nothing" {
			claims, names = fmt.Sprintf(`, resourceClaims: [{name: gpu, resourceClaimTemplateName: %s}]`, w.template), `, claims: [{name: gpu}]`
		}
		if gang.sharing[p] {
			claims = fmt.Sprintf(`, resourceClaims: [{name: gpu, resourceClaimName: %s}]`, name)
		}
		labels, node, status, extended := "", "", "", ""
		if n := map[string]int{"any": 1, "two": 2}[w.template]; n > 0 && gang.extended && !gang.sharing[p] {
			claims, extended = "", fmt.Sprintf(`, example.com/gpu: "%d"`, n)
			names = fmt.Sprintf(", limits: {%s}", extended[2:])
		}
		if at, begun := gang.begun[p]; begun {
			node, status = c.begun(name, p, gang, at)
		}
		if gang.has(p) {
			labels = fmt.Sprintf("labels: {part: part-%d}, ", p/gang.each)
		}
		c.add(`{apiVersion: v1, kind: Pod, metadata: {name: %s-%d, namespace: team, uid: %[1]s-%[2]d, %[3]sannotations: {scheduling.k8s.io/group-name: %[1]s}}, spec: {schedulerName: volcano%[7]s, nodeSelector: {gang: %[1]s}, containers: [{name: main, image: training, resources: {requests: {cpu: "%[4]d"%[9]s}%[5]s}}]%[6]s}%[8]s}`, name, p, labels, gang.asks[p], names, claims, node, status, extended)
	}
}

// zone adds the HyperNode of the racks in a zone of a gang.
func (c *tightCluster) zone(gang string, zone int, of *tight) {
	var members []string
	for rack := zone; rack < of.racks; rack += of.zones {
		members = append(members, fmt.Sprintf("{type: HyperNode, selector: {exactMatch: {name: %s-rack-%d}}}", gang, rack))
	}
	c.add(`{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: %s-zone-%d, uid: %[1]s-zone-%[2]d}, spec: {tier: 2, members: [%[3]s]}}`, gang, zone, strings.Join(members, ", "))
}

func (c *tightCluster) template(w wants) {
	if spec := w.spec(); spec != "" {
		c.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: %s, namespace: team}, spec: {spec: %s}}`, w.template, spec)
	}
}

// spec returns the spec of a claim. It is empty for no claim.
func (w wants) spec() string {
	var requests []string
	constraints := ""
	for i := range w.alternatives[0] {
		if len(w.alternatives) == 1 || w.alternatives[0][i] == w.alternatives[1][i] {
			requests = append(requests, fmt.Sprintf("{name: r%d, exactly: {deviceClassName: %s, count: 1}}", i, w.alternatives[0][i]))
			continue
		}
		requests = append(requests, fmt.Sprintf("{name: r%d, firstAvailable: [{name: first, deviceClassName: %s, count: 1}, {name: second, deviceClassName: %s, count: 1}]}", i, w.alternatives[0][i], w.alternatives[1][i]))
	}
	if len(requests) == 0 {
		return ""
	}
	if w.same {
		constraints = `, constraints: [{matchAttribute: gpu.example.com/model}]`
	}
	return fmt.Sprintf("{devices: {requests: [%s]%s}}", strings.Join(requests, ", "), constraints)
}

func (c *tightCluster) node(gang string, n int, of *tight) {
	name, amounts := fmt.Sprintf("%s-node-%d", gang, n), fmt.Sprintf(`{cpu: "%d", memory: 64Gi, pods: "110"}`, of.cpus[n])
	c.add(`{apiVersion: v1, kind: Node, metadata: {name: %s, uid: %[1]s, labels: {gang: %s}}, status: {capacity: %s, allocatable: %[3]s, conditions: [{type: Ready, status: "True"}]}}`, name, gang, amounts)
	c.slice(name, "nodeName: "+name, of.nodes[n])
}

// slice adds devices that some nodes reach.
func (c *tightCluster) slice(name, nodes string, devices []device) {
	var all []string
	counters := ""
	for _, d := range devices {
		consumes := ""
		if d.parts > 0 {
			consumes = fmt.Sprintf(`, consumesCounters: [{counterSet: gpu, counters: {parts: {value: "%d"}}}]`, d.parts)
			counters = `, sharedCounters: [{name: gpu, counters: {parts: {value: "2"}}}]`
		}
		all = append(all, fmt.Sprintf(`{name: %s, attributes: {size: {string: %s}, model: {string: %s}}%s}`, d.name, d.size, d.model, consumes))
	}
	if len(all) > 0 {
		c.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: %s, uid: slice-%[1]s}, spec: {driver: gpu.example.com, %s, pool: {name: %[1]s, generation: 1, resourceSliceCount: 1}, devices: [%[3]s]%s}}`, name, nodes, strings.Join(all, ", "), counters)
	}
}
