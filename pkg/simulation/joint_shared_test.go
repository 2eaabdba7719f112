// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"testing"

	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// TestPodsOnSeveralNodesShareAClaimThatCountsOnce: the first pod must leave the large GPU to the second one, and shares a claim with the third one, on another node.
func TestPodsOnSeveralNodesShareAClaimThatCountsOnce(t *testing.T) {
	r := &racks{}
	r.add(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
	for class, selector := range map[string]string{"gpu": `device.driver == "gpu.example.com"`, "large": `device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].size == "large"`, "net": `device.driver == "net.example.com"`} {
		r.add(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: %s}, spec: {selectors: [{cel: {expression: '%s'}}]}}`, class, selector)
		r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: %s, namespace: team}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: %[1]s, count: 1}}]}}}}`, class)
	}
	r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: shared, namespace: team, uid: shared}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: net, count: 1}}]}}}`)
	r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: net, uid: net}, spec: {driver: net.example.com, allNodes: true, pool: {name: net, generation: 1, resourceSliceCount: 1}, devices: [{name: net-0}, {name: net-1}]}}`)
	r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: gpus, uid: gpus}, spec: {driver: gpu.example.com, nodeName: node-0, pool: {name: gpus, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0, attributes: {size: {string: large}}}, {name: gpu-1, attributes: {size: {string: small}}}]}}`)
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root, uid: root}, spec: {weight: 1}}`)
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: ours, uid: ours}, spec: {weight: 1, parent: root, dra: {capability: {net: {count: 1}}}}}`)
	for n := range 2 {
		r.add(`{apiVersion: v1, kind: Node, metadata: {name: node-%d, uid: node-%[1]d, labels: {n: n%[1]d}}, status: {capacity: &all {cpu: "8", memory: 64Gi, pods: "110"}, allocatable: *all, conditions: [{type: Ready, status: "True"}]}}`, n)
	}
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: gang, namespace: team, uid: gang}, spec: {minMember: 3, queue: ours}}`)
	const sharing, shared = `{name: net, resourceClaimName: shared}`, `{name: net}`
	pod := func(p, node int, claims, names string) {
		r.pod("gang", p, "", fmt.Sprintf(`nodeSelector: {n: n%d}, containers: [{name: main, image: training, resources: {requests: {cpu: "1"}, claims: [%s]}}], resourceClaims: [%s]`, node, names, claims))
	}
	pod(0, 0, sharing+`, {name: gpu, resourceClaimTemplateName: gpu}`, shared+`, {name: gpu}`)
	pod(1, 0, `{name: gpu, resourceClaimTemplateName: large}`, `{name: gpu}`)
	pod(2, 1, sharing, shared)
	out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, r.String()), Configuration: sample()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range out.Workloads {
		if w.Name == "gang" && len(w.Pods) != 3 {
			t.Errorf("%d pods of the gang run, want 3: %+v", len(w.Pods), w.Why)
		}
	}
}
