// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/devicequota/devicequota/test/cluster"
)

// shape is a cluster and the pods that arrive.
type shape struct {
	// Title says what is special, for people.
	Title                        string
	Nodes, Devices, Pods, Queues int
	// Resource is what each pod requests one of. If it is empty, each pod has a claim with one device.
	Resource string
	// Gang is the number of pods of a PodGroup. If it is zero, pods have no PodGroup, and Volcano's controllers make one for each.
	Gang int
	// Limit is the number of pods that each queue may have, zero for as many as there are.
	Limit int
	// Rate is the number of pods that are created in a second while the scheduler runs. If it is zero, all pods are there when it starts.
	Rate int
}

const (
	plugin   = "nvidia.com/gpu"
	extended = "example.com/gpu"
)

var shapes = []shape{
	{Title: "claims", Nodes: 200, Devices: 10, Pods: 2000, Queues: 1},
	{Title: "claims", Nodes: 200, Devices: 10, Pods: 1000, Queues: 1, Rate: 20},
	{Title: "claims", Nodes: 500, Devices: 10, Pods: 5000, Queues: 1},
	{Title: "claims, a quota for half of the pods", Nodes: 200, Devices: 10, Pods: 2000, Queues: 10, Limit: 100},
	{Title: "claims, 1,000 queues", Nodes: 200, Devices: 10, Pods: 2000, Queues: 1000},
	{Title: "claims, gangs of 32", Nodes: 200, Devices: 10, Pods: 1920, Queues: 1, Gang: 32},
	{Title: "a device plugin", Nodes: 200, Devices: 10, Pods: 2000, Queues: 1, Resource: plugin},
	{Title: "an extended resource of DRA", Nodes: 200, Devices: 10, Pods: 2000, Queues: 1, Resource: extended},
}

// contestants are the schedulers, each with the name of those pods that it serves.
var contestants = []struct {
	name, pods string
	scheduler  cluster.Scheduler
	// serves reports whether the scheduler knows what a shape needs.
	serves func(shape) bool
}{
	{"ours", "volcano", cluster.Ours, func(shape) bool { return true }},
	{"volcano", "volcano", cluster.Volcano, func(s shape) bool { return s.Resource != extended }},
	{"kube", "default-scheduler", cluster.Kube, func(s shape) bool { return s.Queues == 1 && s.Gang == 0 }},
}

func (s shape) String() string {
	return fmt.Sprintf("shape=%s/nodes=%d/pods=%d/rate=%d", strings.ReplaceAll(s.Title, " ", "_"), s.Nodes, s.Pods, s.Rate)
}

// bound returns the number of pods that get a node.
func (s shape) bound() int {
	if s.Limit > 0 {
		return s.Limit * s.Queues
	}
	return s.Pods
}

// Quota returns the number of cpu that each queue may have. Each pod asks for one.
func (s shape) Quota() int {
	if s.Limit > 0 {
		return s.Limit
	}
	return 1000000
}

// Groups returns the number of PodGroups that are created before the pods.
func (s shape) Groups() int {
	if s.Gang == 0 {
		return 0
	}
	return s.Pods / s.Gang
}

// Offered returns the extended resource that DRA serves.
func (s shape) Offered() string {
	if s.Resource == extended {
		return extended
	}
	return ""
}

// Plugin reports whether a device plugin serves the devices.
func (s shape) Plugin() bool { return s.Resource == plugin }

// settingTemplate has what exists before the pods. kwok reports the nodes ready.
var settingTemplate = template.Must(template.New("").Parse(`
apiVersion: v1
kind: Namespace
metadata: {name: load}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec:
{{with .Offered}}  extendedResourceName: {{.}}
{{end}}  selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu, namespace: load}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
{{range $node := .Nodes}}---
apiVersion: v1
kind: Node
metadata: {name: node-{{$node}}, annotations: {kwok.x-k8s.io/node: fake}, labels: {kubernetes.io/hostname: node-{{$node}}}}
status:
  allocatable: &all {cpu: "64", memory: 256Gi, pods: "110"{{if $.Plugin}}, nvidia.com/gpu: "{{$.Devices}}"{{end}}}
  capacity: *all
{{if not $.Plugin}}---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-{{$node}}}
spec:
  driver: gpu.example.com
  nodeName: node-{{$node}}
  pool: {name: node-{{$node}}, generation: 1, resourceSliceCount: 1}
  devices:
{{range $device := $.Devices}}  - {name: gpu-{{$device}}}
{{end}}{{end}}{{end}}{{range $queue := .Queues}}---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: queue-{{$queue}}}
spec: {parent: root, weight: 1, capability: {cpu: {{$.Quota}}, memory: 1000Ti}}
{{end}}{{range $group := .Groups}}---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: gang-{{$group}}, namespace: load}
spec: {minMember: {{$.Gang}}, queue: queue-0, minResources: {cpu: {{$.Gang}}}}
{{end}}`))
