// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"strings"
	"text/template"
	"time"
)

// shape is a cluster and the jobs that arrive at once.
type shape struct {
	// Title says what is special, for people.
	Title                              string
	Nodes, Devices, Jobs, Pods, Queues int
	// Count is the number of devices that each pod asks for, 1 if it is zero.
	Count int
	// Resource is the extended resource that pods request, in place of a claim. Nodes have it from a device plugin, or from DRA. Cards says that queues count it as
	// cards.
	Resource string
	Cards    bool
	// Differ says that no two jobs ask for the same cpu.
	Differ bool
	// Running is the number of pods that run when the jobs arrive, each with a device. Those of a node are one job.
	Running int
	// Levels is the number of queues between root and the queues of jobs. Each has a quota.
	Levels int
	// Limit is the number of devices that each queue may have, zero for more than there are.
	Limit int
	// Rack is the number of nodes of a HyperNode of tier 1. Eight of a tier are one of the next tier, up to tier 3. Jobs must each be in one HyperNode of at most Tier.
	Rack, Tier int
	// Reclaim says that the first queue has what runs, and that the second one deserves what its jobs ask for.
	Reclaim bool
}

// Each returns the number of devices that each pod asks for.
func (s shape) Each() int { return max(1, s.Count) }

// Quota returns the number of devices that each queue may have, and deserves if it reclaims them.
func (s shape) Quota() int {
	if s.Limit > 0 {
		return s.Limit
	}
	return 100000
}

// Claims reports whether pods have claims.
func (s shape) Claims() bool { return s.Resource == "" }

// hyperNode is one of some nodes, or of some HyperNodes of the tier below.
type hyperNode struct {
	Tier    int
	Name    string
	Kind    string
	Members []string
}

// HyperNodes returns the HyperNodes of the cluster, none if jobs have no network topology.
func (s shape) HyperNodes() (all []hyperNode) {
	members, kind := s.Nodes, "Node"
	for tier, size := 1, s.Rack; tier <= 3 && size > 0; tier, size = tier+1, 8 {
		below := members
		members = 0
		for first := 0; first < below; first += size {
			h := hyperNode{Tier: tier, Name: fmt.Sprintf("tier-%d-%d", tier, members), Kind: kind}
			for m := first; m < min(first+size, below); m++ {
				name := fmt.Sprintf("node-%d", m)
				if tier > 1 {
					name = fmt.Sprintf("tier-%d-%d", tier-1, m)
				}
				h.Members = append(h.Members, name)
			}
			all = append(all, h)
			members++
		}
		kind = "HyperNode"
	}
	return all
}

// with returns a configuration of the scheduler with the plugin that the jobs need.
func (s shape) with(configuration string) string {
	if s.Rack == 0 {
		return configuration
	}
	return withTopology(configuration)
}

// Plugin reports whether a device plugin serves the devices.
func (s shape) Plugin() bool { return s.Resource == "nvidia.com/gpu" }

// alone reports whether Volcano itself places no such pods: it evicts nobody for claims, and serves no extended resources with DRA.
func (s shape) alone() bool { return s.Reclaim || s.Resource == "example.com/gpu" }

// bound returns the number of pods that can be bound.
func (s shape) bound() int {
	if s.Limit > 0 && !s.Reclaim {
		return s.Limit * s.Queues
	}
	return s.Jobs * s.Pods
}

func (s shape) String() string {
	return fmt.Sprintf("shape=%s/nodes=%d/running=%d/jobs=%d/asked=%dx%d", strings.ReplaceAll(s.Title, " ", "_"), s.Nodes, s.Running, s.Jobs, s.Pods, s.Each())
}

var shapes = []shape{
	{Title: "single pods", Nodes: 4, Devices: 256, Jobs: 1000, Pods: 1, Queues: 30},
	{Title: "single pods", Nodes: 500, Devices: 8, Jobs: 1000, Pods: 1, Queues: 30},
	{Title: "single pods", Nodes: 2000, Devices: 8, Jobs: 500, Pods: 1, Queues: 30},
	{Title: "single pods", Nodes: 5000, Devices: 8, Jobs: 200, Pods: 1, Queues: 30},
	{Title: "single pods", Nodes: 500, Devices: 8, Jobs: 4000, Pods: 1, Queues: 30},
	{Title: "single pods", Nodes: 500, Devices: 10, Jobs: 2500, Pods: 1, Queues: 30, Running: 2500},
	{Title: "few pods", Nodes: 500, Devices: 10, Jobs: 10, Pods: 1, Queues: 10},
	{Title: "few pods", Nodes: 500, Devices: 10, Jobs: 10, Pods: 1, Queues: 10, Running: 2500},
	{Title: "few pods", Nodes: 500, Devices: 10, Jobs: 10, Pods: 1, Queues: 10, Running: 4990},
	{Title: "gangs", Nodes: 2000, Devices: 8, Jobs: 5, Pods: 100, Queues: 5},
	{Title: "gangs with a device plugin", Nodes: 2000, Devices: 8, Jobs: 5, Pods: 100, Queues: 5, Resource: "nvidia.com/gpu"},
	{Title: "gangs with cards", Nodes: 2000, Devices: 8, Jobs: 5, Pods: 100, Queues: 5, Resource: "nvidia.com/gpu", Cards: true},
	{Title: "gangs with extended resources of DRA", Nodes: 2000, Devices: 8, Jobs: 5, Pods: 100, Queues: 5, Resource: "example.com/gpu"},
	{Title: "one gang", Nodes: 500, Devices: 8, Jobs: 1, Pods: 2000, Queues: 1},
	{Title: "one gang", Nodes: 500, Devices: 8, Jobs: 1, Pods: 250, Count: 8, Queues: 1},
	{Title: "pods that differ", Nodes: 2000, Devices: 8, Jobs: 200, Pods: 1, Queues: 30, Differ: true},
	{Title: "pods that differ, with a device plugin", Nodes: 2000, Devices: 8, Jobs: 200, Pods: 1, Queues: 30, Resource: "nvidia.com/gpu", Differ: true},
	{Title: "1,000 queues", Nodes: 500, Devices: 8, Jobs: 1000, Pods: 1, Queues: 1000},
	{Title: "five levels of queues", Nodes: 500, Devices: 8, Jobs: 1000, Pods: 1, Queues: 30, Levels: 4},
	{Title: "a quota for half of the pods", Nodes: 500, Devices: 8, Jobs: 1000, Pods: 1, Queues: 50, Limit: 10},
	{Title: "a gang that reclaims", Nodes: 500, Devices: 8, Jobs: 1, Pods: 1, Queues: 2, Limit: 4000, Running: 4000, Reclaim: true},
	{Title: "a gang that reclaims", Nodes: 500, Devices: 8, Jobs: 1, Pods: 2000, Queues: 2, Limit: 4000, Running: 4000, Reclaim: true},
	{Title: "a gang that reclaims", Nodes: 500, Devices: 8, Jobs: 1, Pods: 4000, Queues: 2, Limit: 4000, Running: 4000, Reclaim: true},
	{Title: "a gang in one of four zones", Nodes: 512, Devices: 8, Jobs: 1, Pods: 512, Queues: 1, Rack: 2, Tier: 3},
	{Title: "a gang that reclaims one of four zones", Nodes: 512, Devices: 8, Jobs: 1, Pods: 512, Queues: 2, Limit: 4096, Running: 4096, Reclaim: true, Rack: 2, Tier: 3},
	{Title: "a gang that reclaims one rack of 64 nodes", Nodes: 512, Devices: 8, Jobs: 1, Pods: 512, Queues: 2, Limit: 4096, Running: 4096, Reclaim: true, Rack: 64, Tier: 1},
}

// idleShapes are clusters in which nothing changes.
var idleShapes = []shape{
	{Title: "idle", Nodes: 2000, Devices: 8, Running: 16000, Queues: 30},
	{Title: "idle", Nodes: 12500, Devices: 8, Running: 100000, Queues: 30},
}

// benchmark returns the name of the benchmark that has a shape.
func (s shape) benchmark() string {
	if s.Jobs == 0 {
		return "IdleSession"
	}
	return "Scheduler"
}

var shapeTemplate = template.Must(template.New("").Funcs(template.FuncMap{
	"mod": func(a, b int) int { return a % b }, "div": func(a, b int) int { return a / b }, "add": func(a, b int) int { return a + b },
	"timestamp": func(i int) string { return time.Unix(1.7e9+int64(i), 0).UTC().Format(time.RFC3339) }}).Parse(`
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: { {{- if and .Resource (not .Plugin)}}extendedResourceName: {{.Resource}}, {{end}}selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one, namespace: team}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, count: {{.Each}}}}]}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: root, uid: root}
spec: {weight: 1}
{{- $s := .}}{{range $l := .Levels}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: level-{{add $l 1}}, uid: level-{{add $l 1}}}
spec: {weight: 1, parent: {{if $l}}level-{{$l}}{{else}}root{{end}}, dra: {capability: {gpu: {count: 100000}}}}
{{- end}}{{range .Queues}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: queue-{{.}}, uid: queue-{{.}}{{if $s.Cards}}, annotations: {volcano.sh/card.quota: '{"A100": 100000}'}{{end}}}
spec:
  weight: 1
  parent: {{if $s.Levels}}level-{{$s.Levels}}{{else}}root{{end}}
{{- if $s.Claims}}
  dra: {capability: {gpu: {count: {{$s.Quota}}}}{{if and $s.Reclaim .}}, deserved: {gpu: {count: {{$s.Quota}}}}{{end}}}
{{- end}}{{end}}{{range .Nodes}}
---
apiVersion: v1
kind: Node
metadata: {name: node-{{.}}, uid: node-{{.}}, labels: {kubernetes.io/hostname: node-{{.}}{{if $s.Cards}}, nvidia.com/gpu.product: A100{{end}}}}
status:
  capacity: &all {cpu: "512", memory: 2Ti, pods: "500"{{if $s.Plugin}}, nvidia.com/gpu: {{$s.Devices}}{{end}}}
  allocatable: *all
  conditions: [{type: Ready, status: "True"}]
{{- if not $s.Plugin}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-{{.}}-gpus, uid: slice-{{.}}}
spec:
  driver: gpu.example.com
  nodeName: node-{{.}}
  pool: {name: node-{{.}}, generation: 1, resourceSliceCount: 1}
  devices: [{{range $i := $s.Devices}}{name: gpu-{{$i}}},{{end}}]
{{- end}}{{end}}{{range .HyperNodes}}
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: {{.Name}}, uid: {{.Name}}}
spec: {tier: {{.Tier}}, members: [{{$kind := .Kind}}{{range .Members}}{type: {{$kind}}, selector: {exactMatch: {name: {{.}}}}},{{end}}]}
{{- end}}{{range $n := (div (add .Running (add .Devices -1)) .Devices)}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: run-{{$n}}, namespace: team, uid: run-{{$n}}}
spec: {minMember: 1, queue: queue-{{if $s.Reclaim}}0{{else}}{{mod $n $s.Queues}}{{end}}}
status: {phase: Running}
{{- end}}{{range $i := .Running}}{{$n := div $i $s.Devices}}
---
apiVersion: v1
kind: Pod
metadata: {name: run-{{$i}}, namespace: team, uid: run-{{$i}}, creationTimestamp: {{timestamp $i}}, annotations: {scheduling.k8s.io/group-name: run-{{$n}}}}
spec:
  schedulerName: volcano
  nodeName: node-{{$n}}
  containers:
  - name: main
    image: training
    resources:
      requests: {cpu: "1", memory: 1Gi{{with $s.Resource}}, {{.}}: 1{{end}}}
{{- with $s.Resource}}
      limits: { {{- .}}: 1}
{{- end}}{{if $s.Claims}}
      claims: [{name: gpu}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
{{- end}}
status:
  phase: Running
{{- if $s.Claims}}
  resourceClaimStatuses: [{name: gpu, resourceClaimName: run-{{$i}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: run-{{$i}}
  namespace: team
  uid: claim-{{$i}}
  finalizers: [resource.kubernetes.io/delete-protection]
  annotations: {resource.kubernetes.io/pod-claim-name: gpu}
  ownerReferences: [{apiVersion: v1, kind: Pod, name: run-{{$i}}, uid: run-{{$i}}, controller: true}]
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, count: 1}}]}}
status:
  allocation: {devices: {results: [{request: gpu, driver: gpu.example.com, pool: node-{{$n}}, device: gpu-{{mod $i $s.Devices}}}]}}
  reservedFor: [{resource: pods, name: run-{{$i}}, uid: run-{{$i}}}]
{{- end}}{{end}}{{range $j := .Jobs}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: job-{{$j}}, namespace: team, uid: job-{{$j}}}
spec: {minMember: {{$s.Pods}}, queue: queue-{{if $s.Reclaim}}1{{else}}{{mod $j $s.Queues}}{{end}}{{with $s.Tier}}, networkTopology: {mode: hard, highestTierAllowed: {{.}}}{{end}}}
{{- range $s.Pods}}
---
apiVersion: v1
kind: Pod
metadata: {name: job-{{$j}}-{{.}}, namespace: team, uid: job-{{$j}}-{{.}}, annotations: {scheduling.k8s.io/group-name: job-{{$j}}}}
spec:
  schedulerName: volcano
  containers:
  - name: main
    image: training
    resources:
      requests: {cpu: {{if $s.Differ}}{{add 1000 $j}}m{{else}}"1"{{end}}, memory: 1Gi{{with $s.Resource}}, {{.}}: {{$s.Each}}{{end}}}
{{- with $s.Resource}}
      limits: { {{- .}}: {{$s.Each}}}
{{- end}}{{if $s.Claims}}
      claims: [{name: gpu}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
{{- end}}{{end}}{{end}}
`))
