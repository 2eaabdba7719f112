// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"testing"

	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// TestAGangEvictsAfterALongSearchForNodes: all pods differ, and one node is in use. So the search for nodes for all of them together takes all that it may.
func TestAGangEvictsAfterALongSearchForNodes(t *testing.T) {
	const nodes = 20
	r := &racks{}
	r.add(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
	r.add(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}}`)
	r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one, namespace: team}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 1}}]}}}}`)
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root, uid: root}, spec: {weight: 1}}`)
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: ours, uid: ours}, spec: {weight: 1, parent: root, dra: {deserved: {gpu: {count: %d}}}}}`, nodes)
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: theirs, uid: theirs}, spec: {weight: 1, parent: root, reclaimable: true, dra: {deserved: {gpu: {count: 0}}}}}`)
	for n := range nodes {
		r.add(`{apiVersion: v1, kind: Node, metadata: {name: node-%d, uid: node-%[1]d}, status: {capacity: &all {cpu: "1", memory: 64Gi, pods: "110"}, allocatable: *all, conditions: [{type: Ready, status: "True"}]}}`, n)
		r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: node-%d, uid: slice-%[1]d}, spec: {driver: gpu.example.com, nodeName: node-%[1]d, pool: {name: node-%[1]d, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0}]}}`, n)
	}
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: holder, namespace: team, uid: holder}, spec: {minMember: 1, queue: theirs}, status: {phase: Running}}`)
	r.runs("holder", 0, 0, 0)
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: gang, namespace: team, uid: gang}, spec: {minMember: %d, queue: ours}}`, nodes)
	for p := range nodes {
		r.pod("gang", p, "", fmt.Sprintf(`containers: [{name: main, image: training, resources: {requests: {cpu: %dm}, claims: [{name: gpu}]}}], resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]`, 1000-p))
	}
	out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, r.String()), Configuration: sample()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range out.Workloads {
		if w.Name == "gang" && len(w.Pods) != nodes {
			t.Errorf("%d pods of the gang run, want %d: %+v", len(w.Pods), nodes, w.Why)
		}
	}
}
