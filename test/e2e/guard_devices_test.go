// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

func guardOfDevices() {
	const (
		wrongScheduler = "asks for devices or cards, which only Volcano hands out within the quota of its queue: set schedulerName of its pods to volcano"
		namesNode      = "names a node, so that no scheduler checks the quota of its queue: remove nodeName, or use nodeSelector"
		critical       = "which protects its pods from those whose queues deserve what they use"
		ofController   = "would change the template of its StatefulSet: change the StatefulSet, whose controller creates a revision"
		graceless      = "would have its pods deleted within"
		slowing        = "which would make each cycle of the scheduler slow"
		claim          = "resourceClaims: [{name: gpu, resourceClaimName: gpu}], "
		forVolcanos    = "schedulerName: volcano, "
		mayNotBind     = "may not bind pod attempt"
		binding        = "apiVersion: v1\nkind: Binding\nmetadata: {name: attempt}\ntarget: {kind: Node, name: node}"
	)
	// requesting returns a template with a resource request in the second container of a list.
	requesting := func(where, resources, spec string) string {
		return "metadata: {labels: {app: x}}\nspec: {" + spec + "containers: [{name: main, image: i}], " +
			where + ": [{name: other, image: i}, {name: more, image: i, resources: " + resources + "}]}"
	}
	// only returns a template with a single container that requests resources.
	only := func(resources, spec string) string {
		return "metadata: {labels: {app: x}}\nspec: {" + spec + "containers: [{name: main, image: i, resources: " + resources + "}]}"
	}
	forVolcano := func(a attempt) judged { return nobodyBut(wrongScheduler, a) }
	forScheduler := func(a attempt) judged { return nobodyBut(namesNode, a) }
	ordinary := func(a attempt) judged { return nobodyBut(critical, a) }
	withGrace := func(a attempt) judged { return nobodyBut(graceless, a) }
	// spreading returns constraints for a pod. Preferring returns an affinity that selects by a number of labels.
	spreading := func(constraints int) string {
		all := make([]string, constraints)
		for i := range all {
			all[i] = fmt.Sprintf("{maxSkew: 1, topologyKey: k%d, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: x}}}", i)
		}
		return "topologySpreadConstraints: [" + strings.Join(all, ", ") + "], "
	}
	preferring := func(labels int) string {
		return "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: k, labelSelector: {matchLabels: {" +
			strings.Join(numbered("l%d: x", labels), ", ") + "}}}}]}}, "
	}

	DescribeTable("lets only Volcano hand them out:", func(ctx context.Context, j judged) { j.check(ctx) },
		func() (entries []TableEntry) {
			for _, kind := range slices.Sorted(maps.Keys(workloads)) {
				make := workloads[kind]
				entries = append(entries,
					Entry("a "+kind+" with a claim", forVolcano(attempt{create: make(template("", claim))})),
					Entry("a "+kind+" with a claim that names a node", forScheduler(attempt{create: make(template("", claim+forVolcanos+"nodeName: node"))})),
					Entry("a "+kind+" with a claim for Volcano", everybody(attempt{create: make(template("", claim+forVolcanos))})),
					Entry("a "+kind+" without devices that names a node", forScheduler(attempt{create: make(template("", forVolcanos+"nodeName: node"))})),
					Entry("a "+kind+" for another scheduler that names a node", forScheduler(attempt{create: make(template("", "nodeName: node"))})),
					Entry("a "+kind+" that is critical for the cluster", ordinary(attempt{create: make(template("", forVolcanos+"priorityClassName: system-cluster-critical"))})),
					Entry("a "+kind+" that is critical for its node", ordinary(attempt{create: make(template("", "priorityClassName: system-node-critical"))})),
					Entry("a "+kind+" whose pods are deleted at once", withGrace(attempt{create: make(template("", forVolcanos+"terminationGracePeriodSeconds: 0"))})),
					Entry("a "+kind+" whose pods may take very long to end", withGrace(attempt{create: make(template("", forVolcanos+"terminationGracePeriodSeconds: 3601"))})),
					Entry("a "+kind+" with many constraints", nobodyBut(slowing, attempt{create: make(template("", forVolcanos+spreading(17)))})),
					Entry("a "+kind+" with an affinity to many labels", nobodyBut(slowing, attempt{create: make(template("", forVolcanos+preferring(17)))})),
					Entry("a "+kind+" with some constraints and labels", everybody(attempt{create: make(template("", forVolcanos+spreading(15)+preferring(16)))})),
					Entry("a "+kind+" whose pods may take long to end", everybody(attempt{create: make(template("", forVolcanos+"terminationGracePeriodSeconds: 3600"))})),
					Entry("a "+kind+" for another scheduler whose pods are deleted at once", everybody(attempt{create: make(template("", "terminationGracePeriodSeconds: 0"))})))
			}
			for _, kind := range slices.Sorted(maps.Keys(volcanoJobs)) {
				make := volcanoJobs[kind]
				job := func(scheduler, template string) string {
					return "minAvailable: 1\n" + scheduler + "\ntasks:\n- name: t\n  replicas: 1\n  template:" + within(4, template)
				}
				entries = append(entries,
					Entry("a "+kind+" with a claim", forVolcano(attempt{create: make(job("", template("", claim)))})),
					Entry("a "+kind+" with a claim and another scheduler in the template",
						forVolcano(attempt{create: make(job("schedulerName: volcano", template("", claim+"schedulerName: default-scheduler")))})),
					Entry("a "+kind+" with a claim that names a node", forScheduler(attempt{create: make(job("schedulerName: volcano", template("", claim+"nodeName: node")))})),
					Entry("a "+kind+" without devices that names a node", forScheduler(attempt{create: make(job("schedulerName: volcano", template("", "nodeName: node")))})),
					Entry("a "+kind+" that is critical for the cluster", ordinary(attempt{create: make(job("schedulerName: volcano\npriorityClassName: system-cluster-critical", template("", "")))})),
					Entry("a "+kind+" that is critical, with a task that is not", ordinary(attempt{create: make(job("schedulerName: volcano\npriorityClassName: system-cluster-critical",
						template("", "priorityClassName: ordinary")))})),
					Entry("a "+kind+" with a task that is critical for its node", ordinary(attempt{create: make(job("schedulerName: volcano", template("", "priorityClassName: system-node-critical")))})),
					Entry("a "+kind+" whose pods are deleted at once", withGrace(attempt{create: make(job("schedulerName: volcano", template("", "terminationGracePeriodSeconds: 0")))})),
					Entry("a "+kind+" without a scheduler whose pods are deleted at once", withGrace(attempt{create: make(job("", template("", "terminationGracePeriodSeconds: 0")))})),
					Entry("a "+kind+" with a claim for Volcano", everybody(attempt{create: make(job("schedulerName: volcano", template("", claim)))})),
					Entry("a "+kind+" with a claim for Volcano in the template", everybody(attempt{create: make(job("", template("", claim+forVolcanos)))})))
			}
			return entries
		}(),
		Entry("a pod with an affinity to many nodes", nobodyBut("more than 16 terms of nodeAffinity", attempt{create: asPod(template("", forVolcanos+onNodes(257)))})),
		Entry("a pod with an affinity to some nodes", everybody(attempt{create: asPod(template("", forVolcanos+onNodes(256)))})),
		Entry("a pod with many affinities to some nodes", nobodyBut("more than 1024 together", attempt{create: asPod(template("", forVolcanos+
			"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {"+
			many("nodeSelectorTerms", "{matchExpressions: [{key: k%d, operator: In, values: ["+strings.Join(numbered("x%%[1]d%d", 256), ", ")+"]}]}", 4)+"}}}"))})),
		Entry("a pod with many affinities to some labels", nobodyBut("or all of them by more than 256", attempt{create: asPod(template("", forVolcanos+
			"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ["+strings.Join(numbered(
			"{topologyKey: k%d, labelSelector: {matchExpressions: [{key: k, operator: In, values: ["+strings.Join(numbered("x%%[1]d%d", 16), ", ")+"]}]}}", 16), ", ")+"]}}"))})),
		Entry("a pod with affinities to long labels", nobodyBut("by more than 8192 characters", attempt{create: asPod(template("", forVolcanos+
			"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ["+strings.Join(numbered("{topologyKey: k%d, labelSelector: {matchLabels: {"+
			strings.Join(numbered(strings.Repeat("b", 50)+"/l%d: x", 15), ", ")+"}}}", 16), ", ")+"]}}"))})),
		Entry("a pod with affinities to nodes by long labels", nobodyBut("more than 32768 characters", attempt{create: asPod(template("", forVolcanos+
			"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {"+many("nodeSelectorTerms", "{matchExpressions: [{key: k%d, operator: In, values: ["+
			strings.Join(numbered(strings.Repeat("b", 50)+"%d", 200), ", ")+"]}]}", 4)+"}}}"))})),
		Entry("a pod with some affinities to some labels", everybody(attempt{create: asPod(template("", forVolcanos+
			"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ["+strings.Join(numbered(
			"{topologyKey: k%d, labelSelector: {matchExpressions: [{key: k, operator: In, values: ["+strings.Join(numbered("x%%[1]d%d", 15), ", ")+"]}]}}", 16), ", ")+"]}}"))})),
		Entry("a pod of many containers", nobodyBut("more than 256 containers", attempt{create: asPod(template("", forVolcanos+many("initContainers", "{name: c%d, image: i}", 256)))})),
		Entry("a pod of many volumes", nobodyBut("more than 256 containers, volumes", attempt{create: asPod(template("", forVolcanos+many("volumes", "{name: v%d, persistentVolumeClaim: {claimName: c}}", 257)))})),
		Entry("a pod that gets many terms of nodeAffinity while it is gated", nobodyBut("more than 16 terms of nodeAffinity", attempt{
			existing: asPod(template("", forVolcanos+"schedulingGates: [{name: example.com/wait}]")),
			patch:    "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {" + many("nodeSelectorTerms", "{matchExpressions: [{key: k, operator: In, values: [x%d]}]}", 17) + "}}}}"})),
		Entry("a pod that gets many tolerations", nobodyBut("more than 256 containers, volumes, tolerations", attempt{
			existing: asPod(template("", forVolcanos+"nodeSelector: {a: nowhere}")), patch: "spec: {" + many("tolerations", "{key: k%d, operator: Exists, effect: NoSchedule}", 257) + "}"})),
		Entry("a pod that gets a toleration", everybody(attempt{
			existing: asPod(template("", forVolcanos+"nodeSelector: {a: nowhere}")), patch: "spec: {tolerations: [{key: k, operator: Exists, effect: NoSchedule}]}"})),
		Entry("a pod of many tolerations", nobodyBut("more than 256 containers, volumes, tolerations", attempt{create: asPod(template("", forVolcanos+many("tolerations", "{key: k%d, operator: Exists}", 257)))})),
		Entry("a pod that selects nodes by many labels", nobodyBut("labels in the nodeSelector", attempt{create: asPod(template("", forVolcanos+"nodeSelector: {"+strings.Join(numbered("l%d: x", 257), ", ")+"}"))})),
		Entry("a pod that does so while it is gated", nobodyBut("labels in the nodeSelector", attempt{
			existing: asPod(template("", forVolcanos+"schedulingGates: [{name: example.com/wait}]")), patch: "spec: {nodeSelector: {" + strings.Join(numbered("l%d: x", 257), ", ") + "}}"})),
		Entry("a pod whose PodGroup needs a huge number of pods", nobodyBut("group-min-member", attempt{create: asPod(template("scheduling.volcano.sh/group-min-member: '2147483647'", forVolcanos))})),
		Entry("a Deployment whose PodGroup does", nobodyBut("group-min-member", attempt{
			existing: workloads["Deployment"](template("", forVolcanos)), patch: "metadata: {annotations: {scheduling.volcano.sh/group-min-member: '100000'}}"})),
		Entry("a Deployment whose PodGroup needs some", everybody(attempt{
			existing: workloads["Deployment"](template("", forVolcanos)), patch: "metadata: {annotations: {scheduling.volcano.sh/group-min-member: '99999'}}"})),
		Entry("a pod of many resources", nobodyBut("or 512 requests and limits", attempt{create: asPod(template("", forVolcanos+"initContainers: [{name: c, image: i, resources: {limits: {"+
			strings.Join(numbered("example.com/r%d: 1", 257), ", ")+"}}}]"))})),
		Entry("a pod that requests nothing of many extended resources", nobodyBut("or 64 limits of extended resources", attempt{create: asPod(template("",
			forVolcanos+"initContainers: [{name: c, image: i, resources: {limits: {"+strings.Join(numbered("example.com/r%d: 0", 65), ", ")+"}}}]"))})),
		Entry("a pod of some extended resources", everybody(attempt{create: asPod(template("", forVolcanos+"initContainers: [{name: c, image: i, resources: {limits: {"+
			strings.Join(numbered("example.com/r%d: 1", 64), ", ")+"}}}]"))})),
		Entry("a pod of many resources in several containers", nobodyBut("or 512 requests and limits", attempt{create: asPod(template("", forVolcanos+many("initContainers",
			"{name: c%d, image: i, resources: {limits: {"+strings.Join(numbered("example.com/r%%[1]d%d: 1", 4), ", ")+"}}}", 65)))})),
		Entry("a pod with an affinity to many fields", nobodyBut("more than 16 expressions or fields", attempt{create: asPod(template("",
			forVolcanos+"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{"+many("matchFields", "{key: metadata.name, operator: NotIn, values: [n%d]}", 17)+"}]}}}"))})),
		Entry("a Deployment whose pods keep away from those with other labels", nobodyBut(slowing, attempt{create: workloads["Deployment"](template("",
			forVolcanos+"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: k, labelSelector: {}, "+many("mismatchLabelKeys", "l%d", 17)+"}}]}}"))})),
		Entry("a pod for another scheduler with an affinity to many labels", nobodyBut(slowing, attempt{create: asPod(template("", preferring(17)))})),
		Entry("a pod of many host ports", nobodyBut("hostPorts", attempt{create: asPod(template("", forVolcanos+"initContainers: [{name: c, image: i, "+many("ports", "{containerPort: %[1]d1, hostPort: %[1]d1}", 257)+"}]"))})),
		Entry("a pod of many ports and some volumes", everybody(attempt{create: asPod(template("", forVolcanos+many("volumes", "{name: v%d, emptyDir: {}}", 200)+
			", initContainers: [{name: c, image: i, "+many("ports", "{containerPort: %d1}", 257)+"}]"))})),
		Entry("a pod with an affinity to many namespaces", nobodyBut("names more than 256 namespaces", attempt{create: asPod(template("", forVolcanos+
			"affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: k, labelSelector: {}, "+many("namespaces", "n%d", 257)+"}]}}"))})),
		Entry("a pod of some containers", everybody(attempt{create: asPod(template("", forVolcanos+many("initContainers", "{name: c%d, image: i}", 255)))})),
		Entry("a Service that selects by many labels", nobodyBut("selects pods by more than 16 labels", attempt{create: service(17)})),
		Entry("a Service that selects by some labels", everybody(attempt{create: service(16)})),
		Entry("a PodGroup that is critical for the cluster", ordinary(attempt{create: podGroup("default, priorityClassName: system-cluster-critical", "")})),
		Entry("a PodGroup that becomes critical for its nodes", ordinary(attempt{existing: podGroup("default", ""), patch: "spec: {priorityClassName: system-node-critical}"})),
		Entry("a PodGroup that is not critical", everybody(attempt{create: podGroup("default, priorityClassName: ''", "")})),
		Entry("a card of a device plugin", forVolcano(attempt{create: asPod(only("{limits: {nvidia.com/gpu: 1}}", ""))})),
		Entry("a share of a card", forVolcano(attempt{create: asPod(only("{limits: {nvidia.com/mig-1g.18gb: 1}}", ""))})),
		Entry("a card of any vendor", forVolcano(attempt{create: asPod(only("{limits: {example.com/gpu: 1}}", ""))})),
		Entry("the extended resource of a DeviceClass", forVolcano(attempt{create: asPod(only("{limits: {deviceclass.resource.kubernetes.io/h100: 1}}", ""))})),
		Entry("a card in a template, which has no defaults", forVolcano(attempt{create: workloads["Deployment"](only("{limits: {huawei.com/Ascend910: 1}}", ""))})),
		Entry("a card of an init container", forVolcano(attempt{create: asPod(requesting("initContainers", "{limits: {nvidia.com/gpu: 1}}", ""))})),
		Entry("a pod that names a card", forVolcano(attempt{create: asPod(template("volcano.sh/card.name: A", ""))})),
		Entry("a card for Volcano", everybody(attempt{create: asPod(only("{limits: {nvidia.com/gpu: 1}}", forVolcanos))})),
		Entry("a job of many tasks, which must not cost more than CEL may", everybody(attempt{create: manyTasks(500, only("{limits: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1, example.com/rdma: 1}}", ""))})),
		Entry("a revision of a StatefulSet", nobodyBut(ofController, attempt{create: revision("{spec: {template: {$patch: replace, spec: {containers: []}}}}")})),
		Entry("a revision with keys in another case", nobodyBut(ofController, attempt{create: revision("{\u017fpec: {TempLate: {spec: {schedulerName: default-scheduler}}}}")})),
		Entry("a revision of anything else", everybody(attempt{create: revision("{spec: {leaderWorkerTemplate: {}}, kind: LeaderWorkerSet}")})),
		Entry("no cards", everybody(attempt{create: asPod(only("{limits: {nvidia.com/gpu: 0, cpu: 1}}", ""))})),
		Entry("other resources", everybody(attempt{create: asPod(only("{limits: {example.com/licence: 1, hugepages-2Mi: 2Mi, memory: 1Gi}}", ""))})),
		Entry("a namespace that is not guarded", everybody(attempt{namespace: "default", create: asPod(template("", claim))})),
		Entry("a template that comes to ask for devices", forVolcano(attempt{existing: workloads["Deployment"](template("", "")),
			patch: "spec: {template: {spec: {resourceClaims: [{name: gpu, resourceClaimName: gpu}]}}}"})),
		Entry("a template that gets another scheduler", forVolcano(attempt{existing: workloads["StatefulSet"](template("", claim+forVolcanos)),
			patch: "spec: {template: {spec: {schedulerName: default-scheduler}}}"})),
		Entry("the scale of a template that is older than the policy", everybody(attempt{existing: workloads["Deployment"](template("", claim)),
			patch: "spec: {replicas: 0, paused: true}"})),
		// The scheduler's bindings are tested by every spec with running pods.
		Entry("a binding", judged{attempt{subresource: "binding", create: binding}, nil, map[string]string{member: mayNotBind, stranger: mayNotBind}}),
		Entry("a binding of the old form", judged{attempt{create: binding}, nil, map[string]string{member: mayNotBind, stranger: mayNotBind}}),
	)
}

// onNodes is an affinity to a number of nodes.
func onNodes(n int) string {
	return "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: host, operator: In, " + many("values", "n%d", n) + "}]}}]}}, "
}

// many returns a field with a list of n items.
func many(field, item string, n int) string {
	return field + ": [" + strings.Join(numbered(item, n), ", ") + "]"
}

// service returns a Service that selects pods by a number of labels.
func service(labels int) string {
	return "apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80}], selector: {" + strings.Join(numbered("l%d: x", labels), ", ") + "}}"
}

func numbered(format string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return all
}

func guardOfRecords() {
	running := func(annotations string) string { return asPod(template(annotations, "nodeName: nobody")) }
	const sayWhat = "says what it is charged once it has a node"
	onlyTheScheduler := func(message string, a attempt) judged {
		j := judged{a, []string{scheduler}, map[string]string{}}
		for _, user := range []string{member, stranger, operator, administrator, replicaSets, volcanos} {
			j.refused[user] = message
		}
		return j
	}
	binding := func(annotations string) string {
		return "apiVersion: v1\nkind: Binding\nmetadata: {name: attempt, annotations: {" + annotations + "}}\ntarget: {kind: Node, name: node}"
	}
	writesRecord := func(a attempt) judged {
		const message = "only the scheduler writes the annotations volcano.sh/charged-queue"
		return judged{a, nil, map[string]string{member: message, administrator: message, volcanos: message}}
	}
	DescribeTable("keeps what the scheduler trusts:", func(ctx context.Context, j judged) { j.check(ctx) },
		Entry("the card of a pod that has a node", onlyTheScheduler(sayWhat, attempt{existing: running("volcano.sh/card.name: A"),
			patch: "metadata: {annotations: {volcano.sh/card.name: B}}"})),
		Entry("the card of a pod that has a node, through its status", onlyTheScheduler(sayWhat, attempt{existing: running("volcano.sh/card.name: A"),
			subresource: "status", patch: "metadata: {annotations: {volcano.sh/card.name: B}}"})),
		Entry("the card of a pod that has a node, which is removed", onlyTheScheduler(sayWhat, attempt{existing: running("volcano.sh/card.name: A"),
			patch: "metadata: {annotations: {volcano.sh/card.name: null}}"})),
		Entry("the card of a pod that has a node, which is new", onlyTheScheduler(sayWhat, attempt{existing: running(""),
			patch: "metadata: {annotations: {volcano.sh/card.name: A}}"})),
		Entry("the card of a pod that waits", everybody(attempt{existing: asPod(template("volcano.sh/card.name: A", "schedulerName: volcano, nodeSelector: {no: node}")),
			patch: "metadata: {annotations: {volcano.sh/card.name: B}}"})),
		Entry("another annotation of a pod that has a node", everybody(attempt{existing: running("volcano.sh/card.name: A"), patch: "metadata: {annotations: {a: b}}"})),
		Entry("the record on a pod", onlyTheScheduler("only the scheduler writes the annotations volcano.sh/charged-queue", attempt{existing: running(""),
			patch: "metadata: {annotations: {volcano.sh/charged-queue: root/other}}"})),
		Entry("what Volcano decided about the topology of a pod", onlyTheScheduler("only the scheduler writes the annotation volcano.sh/topology-decision",
			attempt{existing: running("a: b"), patch: `metadata: {annotations: {volcano.sh/topology-decision: '{"numa":{"0":{"cpu":"1e-20000000"}}}'}}`})),
		Entry("the shares of GPUs that Volcano gave a pod", onlyTheScheduler("only the scheduler writes the annotation volcano.sh/vgpu-ids-new",
			attempt{existing: running("a: b"), patch: "metadata: {annotations: {volcano.sh/vgpu-ids-new: 'GPU-0,NVIDIA'}}"})),
		Entry("more annotations of a pod than can be counted", onlyTheScheduler("a pod has at most 1000 annotations",
			attempt{existing: running("a: b"), patch: "metadata: {annotations: {" + strings.Join(numbered("a%d: ''", 1000), ", ") + "}}"})),
		Entry("many annotations of a pod", everybody(attempt{existing: running("a: b"), patch: "metadata: {annotations: {" + strings.Join(numbered("a%d: ''", 999), ", ") + "}}"})),
		Entry("annotations of a pod that leave no room for its record", onlyTheScheduler("the annotations of a pod may have 128 KiB",
			attempt{existing: running("a: b"), patch: "metadata: {annotations: {long: " + strings.Repeat("é", 64<<10) + "}}"})),
		Entry("annotations of a pod that leave it room", everybody(attempt{existing: running("a: b"), patch: "metadata: {annotations: {long: " + strings.Repeat("é", 63<<10) + "}}"})),
		Entry("the record on a pod, by a binding", writesRecord(attempt{namespace: "default", subresource: "binding", create: binding("volcano.sh/charged-queue: root/other")})),
		Entry("the record on a pod, by a binding of the old form", writesRecord(attempt{namespace: "default", create: binding("volcano.sh/charged-queue: root/other")})),
		Entry("the card of a pod, by a binding of the old form", judged{attempt{namespace: "default", create: binding("volcano.sh/card.name: B")},
			nil, map[string]string{member: sayWhat, administrator: sayWhat}}),
		Entry("the last valid quotas of a queue", onlyTheScheduler("only the scheduler writes the annotation volcano.sh/last-valid-quota",
			attempt{existing: queueWith("a: b"), patch: `metadata: {annotations: {volcano.sh/last-valid-quota: '{}'}}`})),
		Entry("the last valid quotas of a queue, through its status", onlyTheScheduler("only the scheduler writes the annotation volcano.sh/last-valid-quota",
			attempt{existing: queueWith("volcano.sh/last-valid-quota: '{}'"), patch: `metadata: {annotations: {volcano.sh/last-valid-quota: '{"uid":"x"}'}}`})),
		Entry("the last valid quotas of a queue, which are removed", everybody(attempt{existing: queueWith("volcano.sh/last-valid-quota: '{}'"),
			patch: "metadata: {annotations: {volcano.sh/last-valid-quota: null}}"})),
		Entry("a queue from a backup", everybody(attempt{create: queueWith(`volcano.sh/last-valid-quota: '{"uid":"x"}'`)})),
	)
}

// manyTasks returns the spec of a Volcano Job with a number of tasks.
func manyTasks(tasks int, template string) string {
	spec := "minAvailable: 1\nschedulerName: volcano\nqueue: default\ntasks:"
	for i := range tasks {
		spec += fmt.Sprintf("\n- name: t%d\n  replicas: 1\n  template:", i) + within(4, template)
	}
	return volcanoJobs["Volcano Job"](spec)
}

func queueWith(annotations string) string {
	return "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {annotations: {" + annotations + "}}\nspec: {weight: 1}"
}
