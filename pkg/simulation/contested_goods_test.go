// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"strings"
)

// goods are what gangs compete for. The formats have room for numbers of units.
type goods struct {
	name string
	// class is a part of the spec of the DeviceClass, which is needed if nodes have devices.
	class   string
	devices bool
	// node is amounts of a node.
	node string
	// pod is what a pod requests. claim is an annotation of its claim, and status what its status says about the claim.
	pod, claim, status string
	// owed is what a queue deserves and is guaranteed, and limit what it may have. Both are parts of its metadata and of its spec.
	owed, limit [2]string
	// quota says that a quota is full, and that nodes have room for more.
	quota bool
}

func contestedGoods() []goods {
	classes := goods{
		devices: true, node: "cpu: 64",
		owed: [2]string{"", `, dra: {deserved: {gpu: {count: %d}}, guarantee: {gpu: {count: %d}}}`}, limit: [2]string{"", `, dra: {capability: {gpu: {count: %d}}}`},
	}
	claims, extended := classes, classes
	claims.name = "devices of claims"
	claims.pod = strings.Replace(aClaim, "TemplateName: one", "TemplateName: take-%d", 1)
	claims.claim, claims.status = `resource.kubernetes.io/pod-claim-name: gpu`, `, resourceClaimStatuses: [{name: gpu, resourceClaimName: %s}]`
	extended.name, extended.class = "an extended resource", "extendedResourceName: example.com/gpu, "
	extended.pod = `containers: [{name: main, image: training, resources: {requests: {cpu: "1", example.com/gpu: "%[1]d"}, limits: {example.com/gpu: "%[1]d"}}}]`
	extended.claim = `resource.kubernetes.io/extended-resource-claim: "true"`
	extended.status = `, extendedResourceClaimStatus: {resourceClaimName: %s, requestMappings: [{containerName: main, resourceName: example.com/gpu, requestName: container-0-request-1}]}`
	cards := goods{
		name: "cards", node: "cpu: 64, nvidia.com/gpu: %d",
		pod:   `containers: [{name: main, image: training, resources: {requests: {cpu: "1", nvidia.com/gpu: "%[1]d"}, limits: {nvidia.com/gpu: "%[1]d"}}}]`,
		owed:  [2]string{`, annotations: {volcano.sh/card.deserved: '{"A100": %d}', volcano.sh/card.guarantee: '{"A100": %d}'}`},
		limit: [2]string{`, annotations: {volcano.sh/card.quota: '{"A100": %d}'}`},
	}
	cores := goods{
		name: "cores", node: "cpu: %d", pod: `containers: [{name: main, image: training, resources: {requests: {cpu: "%d"}}}]`,
		owed: [2]string{"", `, deserved: {cpu: %d}, guarantee: {resource: {cpu: %d}}`}, limit: [2]string{"", `, capability: {cpu: %d}`},
	}
	quota := cores
	quota.name, quota.quota = "a quota of cores", true
	return []goods{claims, extended, cards, cores, quota}
}

// formatted fills in numbers if a format has room for them.
func formatted(format string, numbers ...any) string {
	if !strings.Contains(format, "%") {
		return format
	}
	return fmt.Sprintf(format, numbers...)
}

// cluster has racks, and queues below queue org. The quota of org is the amount of all nodes, or more.
func (c *contest) cluster(g *goods) *racks {
	r := &racks{}
	units := max(1, c.units)
	limit := 100 * units
	if g.quota {
		limit, units = 4*units, max(4, units)
	}
	r.add(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
	for priority, value := range map[string]int{"low": 10, "medium": 50, "high": 100} {
		r.add(`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: %s}, value: %d}`, priority, value)
	}
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root, uid: root}, spec: {weight: 1}}`)
	const queue = `{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: %s, uid: %[1]s%[3]s}, spec: {weight: 1, parent: %[2]s%[4]s%[5]s}}`
	r.add(queue, "org", "root", formatted(g.limit[0], limit), formatted(g.limit[1], limit), "")
	for _, q := range c.queues {
		r.add(queue, q.name, "org", formatted(g.owed[0], q.deserved, q.guarantee), formatted(g.owed[1], q.deserved, q.guarantee), q.more)
	}
	for n := range 4 {
		amounts := `{memory: 64Gi, pods: "110", ` + formatted(g.node, units) + `}`
		r.add(`{apiVersion: v1, kind: Node, metadata: {name: node-%d, uid: node-%[1]d, labels: {kubernetes.io/hostname: node-%[1]d, nvidia.com/gpu.product: A100}}, status: {capacity: %[2]s, allocatable: %[2]s, conditions: [{type: Ready, status: "True"}]}}`, n, amounts)
	}
	r.hyperNodes()
	if g.devices {
		r.devices(g.class, units)
	}
	return r
}

// devices adds a class, templates of claims, and the devices of nodes.
func (r *racks) devices(class string, perNode int) {
	r.add(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {%sselectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}}`, class)
	for _, n := range []int{1, 5} {
		r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: take-%d, namespace: team}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: %[1]d}}]}}}}`, n)
	}
	var all []string
	for i := range perNode {
		all = append(all, fmt.Sprintf("{name: gpu-%d}", i))
	}
	for n := range 4 {
		r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: node-%d-gpus, uid: slice-%[1]d}, spec: {driver: gpu.example.com, nodeName: node-%[1]d, pool: {name: node-%[1]d, generation: 1, resourceSliceCount: 1}, devices: [%s]}}`, n, strings.Join(all, ", "))
	}
}

// contender adds a gang if it has pods. Unless from is below 0, it runs on the nodes from there on: a pod on each, with the first device.
func (r *racks) contender(name string, c contender, g *goods, from int) {
	phase := "Pending"
	if from >= 0 {
		phase = "Running"
	}
	if c.pods > 0 {
		r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: %s, namespace: team, uid: %[1]s}, spec: {minMember: %d, queue: %s, priorityClassName: %s, minResources: {cpu: %d}%s}, status: {phase: %s}}`,
			name, c.least, c.queue, c.priority, c.least*c.each, c.more, phase)
	}
	for p := range c.pods {
		pod, role, node, status := fmt.Sprintf("%s-%d", name, p), "worker", "", ""
		if p == 0 {
			role = "server"
		}
		if from >= 0 {
			node, status = fmt.Sprint(", nodeName: node-", from+p), `, status: {phase: Running`+formatted(g.status, pod)+`}`
			r.held(pod, g, from+p)
		}
		r.add(`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: team, uid: %[1]s, labels: {half: half-%[2]d}, annotations: {scheduling.k8s.io/group-name: %[3]s, volcano.sh/task-spec: %[4]s}}, spec: {schedulerName: volcano, priorityClassName: %[5]s%[6]s, %[7]s}%[8]s}`,
			pod, p%2, name, role, c.priority, node, formatted(g.pod, c.each), status)
	}
}

// held adds the claim of a pod that runs, if the goods are devices.
func (r *racks) held(pod string, g *goods, node int) {
	if !g.devices {
		return
	}
	r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: %s, namespace: team, uid: claim-%[1]s, annotations: {%[2]s}, finalizers: [resource.kubernetes.io/delete-protection], ownerReferences: [{apiVersion: v1, kind: Pod, name: %[1]s, uid: %[1]s, controller: true}]}, spec: {devices: {requests: [{name: container-0-request-1, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}, status: {allocation: {devices: {results: [{request: container-0-request-1, driver: gpu.example.com, pool: node-%[3]d, device: gpu-0}]}}, reservedFor: [{resource: pods, name: %[1]s, uid: %[1]s}]}}`,
		pod, g.claim, node)
}
