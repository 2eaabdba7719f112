// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"testing"

	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// alike returns the number of pods that run of a job with these groups, on a node with a large and a small device. Wants has the classes that the pods of each group
// want, and of all groups if there is one list. The job has one more pod, which wants nothing.
func alike(t *testing.T, groups []string, spec string, wants ...[]string) (pods int, why string) {
	t.Helper()
	r := &racks{}
	r.add(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
	r.add(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}}`)
	r.add(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: large}, spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].size == "large"'}}]}}`)
	for _, class := range []string{"gpu", "large"} {
		r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: %s, namespace: team}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: %[1]s, count: 1}}]}}}}`, class)
	}
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root, uid: root}, spec: {weight: 1}}`)
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: ours, uid: ours}, spec: {weight: 1, parent: root}}`)
	r.add(`{apiVersion: v1, kind: Node, metadata: {name: node, uid: node}, status: {capacity: &all {cpu: "64", memory: 64Gi, pods: "110"}, allocatable: *all, conditions: [{type: Ready, status: "True"}]}}`)
	r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: node, uid: slice}, spec: {driver: gpu.example.com, nodeName: node, pool: {name: node, generation: 1, resourceSliceCount: 1}, devices: [{name: a, attributes: {size: {string: large}}}, {name: b, attributes: {size: {string: small}}}]}}`)
	r.pod("gang", 0, "", `containers: [{name: main, image: training, resources: {requests: {cpu: "1"}}}]`)
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: gang, namespace: team, uid: gang}, spec: {queue: ours, %s}}`, spec)
	for i, group := range groups {
		for p, class := range wants[min(i, len(wants)-1)] {
			r.add(`{apiVersion: v1, kind: Pod, metadata: {name: %s-%d, namespace: team, uid: %[1]s-%[2]d, labels: {part: "%[1]s"}, annotations: {scheduling.k8s.io/group-name: gang}}, spec: {schedulerName: volcano, containers: [{name: main, image: training, resources: {requests: {cpu: "1"}, claims: [{name: gpu}]}}], resourceClaims: [{name: gpu, resourceClaimTemplateName: %[3]s}]}}`, group, p, class)
		}
	}
	out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, r.String()), Configuration: sample()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range out.Workloads {
		if w.Name == "gang" {
			pods, why = len(w.Pods), fmt.Sprintf("%+v", w.Why)
		}
	}
	return pods, why
}

// TestAGroupIsTriedAlthoughOneLikeItIsLeftOut: the search for nodes for all pods together has found nodes for one of them,
// and Volcano comes to the other one first.
func TestAGroupIsTriedAlthoughOneLikeItIsLeftOut(t *testing.T) {
	pods, why := alike(t, []string{"2", "10"}, "minMember: 3, subGroupPolicy: [{name: part, subGroupSize: 2, minSubGroups: 1, matchLabelKeys: [part]}]", []string{"gpu", "large"})
	if pods != 3 {
		t.Errorf("%d pods run, want 3: %s", pods, why)
	}
}

// TestAGroupIsTriedAlthoughOneWithSuchPodsInAnotherOrderGotNothing: the job runs already, so that its pods are not searched together.
func TestAGroupIsTriedAlthoughOneWithSuchPodsInAnotherOrderGotNothing(t *testing.T) {
	pods, why := alike(t, []string{"a", "b"}, "minMember: 1, subGroupPolicy: [{name: part, subGroupSize: 2, matchLabelKeys: [part]}]", []string{"gpu", "large"}, []string{"large", "gpu"})
	if pods != 3 {
		t.Errorf("%d pods run, want 3: %s", pods, why)
	}
}
