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

// racks is a zone of two racks of two nodes, each with four devices or four cards. Queue team may have 10 of each.
type racks struct{ strings.Builder }

func (r *racks) add(format string, arguments ...any) {
	fmt.Fprintf(r, "---\n# YAML, not JSON\n"+format+"\n", arguments...)
}

func newRacks() *racks {
	r := &racks{}
	r.add(`{apiVersion: v1, kind: Namespace, metadata: {name: team}}`)
	r.add(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}}`)
	r.add(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: none}, spec: {selectors: [{cel: {expression: 'device.driver == "none.example.com"'}}]}}`)
	r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one, namespace: team}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 1}}]}}}}`)
	r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: either, namespace: team}, spec: {spec: {devices: {requests: [{name: r, firstAvailable: [{name: x, deviceClassName: none, count: 1}, {name: z, deviceClassName: gpu, count: 1}]}]}}}}`)
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root, uid: root}, spec: {weight: 1}}`)
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: team, uid: team, annotations: {volcano.sh/card.quota: '{"A100": 10}'}}, spec: {weight: 1, parent: root, dra: {capability: {gpu: {count: 10}, none: {count: 10}}}}}`)
	for n := range 4 {
		amounts := `{cpu: "64", memory: 64Gi, pods: "110", nvidia.com/gpu: "4"}`
		r.add(`{apiVersion: v1, kind: Node, metadata: {name: node-%d, uid: node-%[1]d, labels: {kubernetes.io/hostname: node-%[1]d, nvidia.com/gpu.product: A100}}, status: {capacity: %[2]s, allocatable: %[2]s, conditions: [{type: Ready, status: "True"}]}}`, n, amounts)
		r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: node-%d-gpus, uid: slice-%[1]d}, spec: {driver: gpu.example.com, nodeName: node-%[1]d, pool: {name: node-%[1]d, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0}, {name: gpu-1}, {name: gpu-2}, {name: gpu-3}]}}`, n)
	}
	r.hyperNodes()
	return r
}

// hyperNodes adds the racks and the zone.
func (r *racks) hyperNodes() {
	hyperNode := `{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: %s, uid: %[1]s}, spec: {tier: %d, members: [{type: %s, selector: {exactMatch: {name: %s}}}, {type: %[3]s, selector: {exactMatch: {name: %[5]s}}}]}}`
	r.add(hyperNode, "rack-0", 1, "Node", "node-0", "node-1")
	r.add(hyperNode, "rack-1", 1, "Node", "node-2", "node-3")
	r.add(hyperNode, "zone", 2, "HyperNode", "rack-0", "rack-1")
}

// gang adds a gang. Topology is a part of the spec of its PodGroup, and asks is what each pod asks for.
func (r *racks) gang(name, topology, asks string, pods int) {
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: %s, namespace: team, uid: %[1]s}, spec: {minMember: %d, queue: team%s}}`, name, pods, topology)
	for p := range pods {
		r.pod(name, p, "", asks)
	}
}

func (r *racks) pod(gang string, p int, node, asks string) {
	status := ""
	if node != "" {
		node, status = ", nodeName: "+node, fmt.Sprintf(`, status: {phase: Running, resourceClaimStatuses: [{name: gpu, resourceClaimName: %s-%d}]}`, gang, p)
	}
	r.add(`{apiVersion: v1, kind: Pod, metadata: {name: %s-%d, namespace: team, uid: %[1]s-%[2]d, labels: {half: half-%[6]d}, annotations: {scheduling.k8s.io/group-name: %[1]s}}, spec: {schedulerName: volcano%[3]s, %[4]s}%[5]s}`, gang, p, node, asks, status, p%2)
}

// runs adds a pod that runs on a node with one of its devices.
func (r *racks) runs(gang string, p, node, device int) {
	r.pod(gang, p, fmt.Sprint("node-", node), aClaim)
	r.add(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: %s-%d, namespace: team, uid: claim-%[1]s-%[2]d, annotations: {resource.kubernetes.io/pod-claim-name: gpu}, ownerReferences: [{apiVersion: v1, kind: Pod, name: %[1]s-%[2]d, uid: %[1]s-%[2]d, controller: true}]}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 1}}]}}, status: {allocation: {devices: {results: [{request: r, driver: gpu.example.com, pool: node-%[3]d, device: gpu-%[4]d}]}}, reservedFor: [{resource: pods, name: %[1]s-%[2]d, uid: %[1]s-%[2]d}]}}`,
		gang, p, node, device)
}

const (
	hardRack = `, networkTopology: {mode: hard, highestTierAllowed: 1}`
	hardZone = `, networkTopology: {mode: hard, highestTierAllowed: 2}`
	softRack = `, networkTopology: {mode: soft, highestTierAllowed: 1}`
	// perRack keeps each half of a gang of ten in one rack.
	perRack = `, subGroupPolicy: [{name: half, subGroupSize: 5, minSubGroups: 2, matchLabelKeys: [half], networkTopology: {mode: hard, highestTierAllowed: 1}}]`

	aClaim = `containers: [{name: main, image: training, resources: {requests: {cpu: "1"}, claims: [{name: gpu}]}}], resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]`
	aCard  = `containers: [{name: main, image: training, resources: {requests: {cpu: "1", nvidia.com/gpu: "1"}, limits: {nvidia.com/gpu: "1"}}}]`
)

var either = strings.Replace(aClaim, "TemplateName: one", "TemplateName: either", 1)

func TestAGangWithATopologyGetsDevicesInOneDomainOrNone(t *testing.T) {
	for _, test := range []struct {
		name string
		add  func(*racks)
		// racks are those in which pods of the gang run, in alternatives, and pods is their number. Others is the number of pods of the other job that run.
		racks        string
		pods, others int
		charged      string
	}{
		{"devices of one rack", func(r *racks) { r.gang("gang", hardRack, aClaim, 6) }, "0|1", 6, 0, "6"},
		{"alternatives", func(r *racks) { r.gang("gang", hardRack, either, 6) }, "0|1", 6, 0, "6"},
		{"cards of one rack", func(r *racks) { r.gang("gang", hardRack, aCard, 6) }, "0|1", 6, 0, "6"},
		{"no rack has so many devices, and others get them", func(r *racks) { r.gang("gang", hardRack, aClaim, 9); r.gang("other", "", aClaim, 10) }, "", 0, 10, ""},
		{"the zone has so many", func(r *racks) { r.gang("gang", hardZone, aClaim, 9) }, "01", 9, 0, "9"},
		{"each half in one rack", func(r *racks) { r.gang("gang", perRack, aClaim, 10) }, "01", 10, 0, "10"},
		{"a rack is only preferred", func(r *racks) { r.gang("gang", softRack, aClaim, 9) }, "01", 9, 0, "9"},
		{"the quota has no room, and others get what there is", func(r *racks) { r.gang("gang", hardZone, aClaim, 11); r.gang("other", "", aClaim, 10) }, "", 0, 10, ""},
		{"devices of a rack are in use", func(r *racks) {
			r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: other, namespace: team, uid: other}, spec: {minMember: 1, queue: team}, status: {phase: Running}}`)
			for d := range 3 {
				r.runs("other", d, 0, d)
			}
			r.gang("gang", hardRack, aClaim, 6)
		}, "1", 6, 3, "6"},
		{"a pod returns to the rack of its gang", func(r *racks) {
			r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: gang, namespace: team, uid: gang}, spec: {minMember: 3, queue: team%s}, status: {phase: Running}}`, hardRack)
			for d := range 3 {
				r.runs("gang", d, 3, d)
			}
			r.pod("gang", 3, "", aClaim)
			r.pod("gang", 4, "", aClaim)
		}, "1", 5, 0, "5"},
		{"nodes of two racks are nominated", func(r *racks) {
			r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: gang, namespace: team, uid: gang}, spec: {minMember: 2, queue: team%s}}`, hardRack)
			for p, node := range []int{0, 2} {
				r.add(`{apiVersion: v1, kind: Pod, metadata: {name: gang-%d, namespace: team, uid: gang-%[1]d, annotations: {scheduling.k8s.io/group-name: gang}}, spec: {schedulerName: volcano, %s}, status: {nominatedNodeName: node-%d}}`, p, aClaim, node)
			}
		}, "0|1", 2, 0, "2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRacks()
			test.add(r)
			out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, r.String()), Configuration: withTopology(sample())}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := whatRuns(out); got.pods != test.pods || got.others != test.others || got.charged != test.charged || !slices.Contains(strings.Split(test.racks, "|"), got.racks) {
				t.Errorf("got %+v, want %d pods in racks %s, charged %q, and %d of others: %+v", got, test.pods, test.racks, test.charged, test.others, out.Workloads)
			}
		})
	}
}

// TestJobsKeepTheirTopologies: a Job that does not exist yet is placed like its PodGroup.
func TestJobsKeepTheirTopologies(t *testing.T) {
	const hard = `networkTopology: {mode: hard, highestTierAllowed: 1}`
	for name, test := range map[string]struct{ job, task, want string }{
		"too large for a rack":           {", " + hard, "", ""},
		"in parts, each in one rack":     {"", `, partitionPolicy: {totalPartitions: 2, partitionSize: 5, minPartitions: 2, ` + hard + `}`, "01"},
		"in parts, too large for a rack": {"", `, partitionPolicy: {totalPartitions: 1, partitionSize: 10, minPartitions: 1, ` + hard + `}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRacks()
			r.add(`{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: gang, namespace: team, uid: gang}, spec: {queue: team, schedulerName: volcano, minAvailable: 10%s, tasks: [{name: worker, replicas: 10%s, template: {spec: {%s}}}]}}`,
				test.job, test.task, aClaim)
			out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, r.String()), Configuration: withTopology(sample())}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := whatRuns(out); got.racks != test.want {
				t.Errorf("got %+v, want racks %q: %+v", got, test.want, out.Workloads)
			}
		})
	}
}

// outcomeOfGang is what runs of the gang, with the racks of its pods in order, and how many pods of others run.
type outcomeOfGang struct {
	racks, charged string
	pods, others   int
}

func whatRuns(out *Outcome) (is outcomeOfGang) {
	racks := map[string]bool{}
	for _, w := range out.Workloads {
		if w.Name != "gang" {
			is.others += len(w.Pods)
			continue
		}
		is.pods = len(w.Pods)
		for _, pod := range w.Pods {
			racks[map[string]string{"node-0": "0", "node-1": "0", "node-2": "1", "node-3": "1"}[pod.Node]] = true
		}
		for _, amount := range w.Charged {
			if amount.Dimension.Kind != "Resource" {
				is.charged = amount.Amount.String()
			}
		}
	}
	is.racks = strings.Join(slices.Sorted(maps.Keys(racks)), "")
	return is
}

// withTopology is the sample configuration with Volcano's plugin for network topologies.
func withTopology(configuration string) string {
	return strings.Replace(configuration, "  - name: binpack\n", "  - name: network-topology-aware\n  - name: binpack\n", 1)
}

// TestAJobWithGroupsThatTheClusterCannotHoldSaysWhy: no node was asked about its pods, and nobody said why it waits.
func TestAJobWithGroupsThatTheClusterCannotHoldSaysWhy(t *testing.T) {
	r := newRacks()
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: large, uid: large}, spec: {weight: 1, parent: root}}`)
	r.add(`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: gang, namespace: team, uid: gang}, spec: {minMember: 20, queue: large, subGroupPolicy: [{name: half, subGroupSize: 10, minSubGroups: 2, matchLabelKeys: [half]}]}}`)
	for p := range 20 {
		r.pod("gang", p, "", aClaim)
	}
	out, err := Run(t.Context(), &clusterstate.State{Kubernetes: "v1.34.1", Items: parsed(t, r.String()), Configuration: sample()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Workloads) != 1 || out.Workloads[0].Why == nil {
		t.Errorf("got %+v", out.Workloads)
	}
}
