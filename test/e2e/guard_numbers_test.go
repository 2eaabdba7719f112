// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
)

func guardOfNumbers() {
	nobody := func(message string, a attempt) judged {
		return judged{a, nil, map[string]string{member: message, stranger: message, administrator: message, volcanos: message}}
	}
	const queue = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nspec: "
	group := podGroup("default", "")
	status := func(status string) attempt {
		job := volcanoJobs["Volcano Job"]("minAvailable: 1\nschedulerName: volcano\ntasks: [{name: t, replicas: 1, template: {spec: {containers: [{name: main, image: i}]}}}]")
		return attempt{existing: job, patch: "status: " + status, subresource: "status"}
	}
	condition := func(time string) string {
		return "{conditions: [{type: Unschedulable, status: \"True\", transitionID: x, reason: r, message: m, lastTransitionTime: '" + time + "'}]}"
	}
	entries := func(n int, entry func(i int) string) string {
		var all []string
		for i := range n {
			all = append(all, entry(i))
		}
		return strings.Join(all, ", ")
	}
	subgroups := func(n, values int) string {
		list := entries(values, strconv.Itoa)
		return "spec: {subGroupPolicy: [" + entries(n, func(i int) string {
			return fmt.Sprintf("{name: g%d, labelSelector: {matchExpressions: [{key: k, operator: In, values: [%s]}]}}", i, strings.ReplaceAll(list, ", ", "x, ")+"x")
		}) + "]}"
	}
	annotations := func(n int) string {
		return "metadata: {annotations: {" + entries(n, func(i int) string { return fmt.Sprintf("a%d: ''", i) }) + "}}"
	}
	tasks := func(n int) string {
		return "spec: {minTaskMember: {" + entries(n, func(i int) string { return fmt.Sprintf("t%d: 1", i) }) + "}}"
	}
	resources := func(n int) string {
		return "spec: {minResources: {" + entries(n, func(i int) string { return fmt.Sprintf("example.com/r%d: 1", i) }) + "}}"
	}
	DescribeTable("lets nobody make each cycle slow with one PodGroup:", func(ctx context.Context, j judged) { j.check(ctx) },
		Entry("many subgroups", nobody("more than 64 entries in subGroupPolicy", attempt{existing: group, patch: subgroups(65, 1)})),
		Entry("a selector of many values", nobody("more than 16 labels, or values of a label", attempt{existing: group, patch: subgroups(1, 17)})),
		Entry("many subgroups with selectors of some values", nobody("or more than 256 in all of them", attempt{existing: group, patch: subgroups(16, 16)})),
		Entry("subgroups with selectors of long labels", nobody("or more than 8192 characters", attempt{existing: group, patch: "spec: {subGroupPolicy: [" + entries(16, func(i int) string {
			return fmt.Sprintf("{name: g%d, labelSelector: {matchLabels: {%s}}}", i, entries(10, func(l int) string { return fmt.Sprintf("%s/l%d: x", strings.Repeat("b", 50), l) }))
		}) + "]}"})),
		Entry("many annotations", nobody("more than 256 annotations", attempt{existing: group, patch: annotations(257), namespace: "default"})),
		Entry("some annotations", everybody(attempt{existing: group, patch: annotations(256)})),
		Entry("some subgroups", everybody(attempt{existing: group, patch: subgroups(64, 3)})),
		Entry("subgroups without selectors", everybody(attempt{existing: group, patch: "spec: {subGroupPolicy: [{name: a, matchLabelKeys: [k]}, {name: b}]}"})),
		Entry("minimums of many tasks", nobody("more than 1000 in minTaskMember", attempt{existing: group, patch: tasks(1001)})),
		Entry("minimums of some tasks", everybody(attempt{existing: group, patch: tasks(1000)})),
		Entry("minimums of many resources", nobody("more than 1000 in minTaskMember, minResources", attempt{existing: group, patch: resources(1001), namespace: "default"})),
		Entry("minimums of some resources", everybody(attempt{existing: group, patch: resources(64)})),
		Entry("some conditions of a Job", everybody(status("{state: {phase: Running}, conditions: ["+entries(65, func(int) string { return "{status: Running}" })+"]}"))),
		Entry("many conditions", nobody("more than 64 conditions", attempt{existing: group, patch: "status: {conditions: [" + entries(65, func(int) string { return "{}" }) + "]}", namespace: "default"})),
	)
	const waste = "has a quantity that takes Volcano long to read"
	task := func(kind, spec string) attempt {
		return attempt{create: volcanoJobs[kind]("minAvailable: 1\nschedulerName: volcano\ntasks: [{name: t, replicas: 1, template: {spec: {" + spec + "}}}]")}
	}
	jobFlow := func(quantity string) string {
		return "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlow\nspec: {jobRetainPolicy: retain, flows: [{name: a, patch: {jobSpec: {tasks: [{name: t, replicas: 1, template: {spec: {" +
			"containers: [{name: main, image: i, resources: {requests: {cpu: '" + quantity + "'}}}]}}}]}}}]}"
	}
	asking := func(quantity string) string {
		return "containers: [{name: main, image: i, resources: {requests: {cpu: '" + quantity + "'}}}]"
	}
	DescribeTable("lets nobody write quantities in pods of Volcano's Jobs that take long to read:", func(ctx context.Context, j judged) { j.check(ctx) },
		func() (entries []TableEntry) {
			for _, kind := range slices.Sorted(maps.Keys(volcanoJobs)) {
				entries = append(entries, Entry("a request in a "+kind, nobody(waste, task(kind, asking("1e-9999999")))), Entry("any other in a "+kind, everybody(task(kind, asking("1e-9")))))
			}
			return entries
		}(),
		Entry("a divisor", nobody(waste, task("Volcano Job", "containers: [{name: main, image: i, env: [{name: a, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: '1e-9999999'}}}]}]"))),
		Entry("a request of an ephemeral container", nobody(waste, task("Volcano Job", asking("1")+", ephemeralContainers: [{name: e, image: i, resources: {requests: {cpu: '1e-9999999'}}}]"))),
		Entry("a request in a patch of a JobFlow", judged{attempt{create: jobFlow("1e9999999")}, nil, map[string]string{administrator: waste, operator: waste}}),
		Entry("any other in a patch of a JobFlow", judged{attempt{create: jobFlow("1e9")}, []string{administrator}, nil}),
		Entry("more pods than Volcano can make", nobody("has more than 100000 pods", attempt{create: volcanoJobs["Volcano Job"](
			"minAvailable: 1\nschedulerName: volcano\ntasks: [{name: a, replicas: 60000, template: {spec: {" + asking("1") + "}}}, {name: b, replicas: 60000, template: {spec: {" + asking("1") + "}}}]")})),
		Entry("an overhead", nobody(waste, task("Volcano Job", asking("1")+", overhead: {cpu: '1e-9999999'}"))),
		Entry("the size of a volume", nobody(waste, task("Volcano Job", asking("1")+", volumes: [{name: v, emptyDir: {sizeLimit: '1e-9999999'}}]"))),
		Entry("a projected divisor", nobody(waste, task("Volcano Job", asking("1")+
			", volumes: [{name: v, projected: {sources: [{downwardAPI: {items: [{path: a, resourceFieldRef: {containerName: main, resource: limits.cpu, divisor: '1e-9999999'}}]}}]}}]"))),
	)
	DescribeTable("lets nobody write numbers that keep the scheduler from reading any object of the kind:", func(ctx context.Context, j judged) { j.check(ctx) },
		Entry("a quantity", nobody("PodGroup existing has the quantity 1e1.5 of cpu, which Volcano cannot read", attempt{existing: group, patch: `spec: {minResources: {cpu: "1e1.5"}}`})),
		Entry("a quantity that takes minutes to read", nobody("the quantity 1e-100000000 of memory", attempt{existing: group, patch: `spec: {minResources: {cpu: 1, memory: "1e-100000000"}}`})),
		Entry("a minimum", nobody("PodGroup existing has the number 99999999999, which Volcano cannot read", attempt{existing: group, patch: "spec: {minMember: 99999999999}"})),
		Entry("a minimum of a task", nobody("the number 2147483648", attempt{existing: group, patch: "spec: {minTaskMember: {a: 1, b: 2147483648}}"})),
		Entry("a size of subgroups", nobody("the number 2147483648", attempt{existing: group, patch: "spec: {subGroupPolicy: [{name: a, subGroupSize: 2147483648}]}"})),
		Entry("a minimum in a namespace that is not guarded", nobody("the number 2147483648", attempt{existing: group, patch: "spec: {minMember: 2147483648}", namespace: "default"})),
		Entry("a new PodGroup", nobody("PodGroup attempt has the number 2147483648", attempt{create: "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nspec: {minMember: 2147483648}"})),
		Entry("a priority of a queue", nobody("Queue attempt has the number 2147483648", attempt{create: queue + "{priority: 2147483648}"})),
		Entry("a capability", nobody("Queue attempt has the quantity 1e1.5 of memory", attempt{create: queue + `{capability: {memory: "1e1.5"}}`})),
		Entry("a guarantee", nobody("the quantity 1E-100 of cpu", attempt{create: queue + `{guarantee: {resource: {cpu: "1E-100"}}}`})),
		Entry("a duration of a job", nobody("Job existing has the duration 1d, which Volcano cannot read", status("{runningDuration: 1d}"))),
		Entry("a duration that is empty", nobody("Job existing has the duration , which Volcano cannot read", status("{runningDuration: ''}"))),
		Entry("a duration that is too long", nobody("has the duration 2600000h", status("{runningDuration: 2600000h}"))),
		Entry("a number in the status of a job", nobody("the number 2147483648", status("{taskStatusCount: {t: {phase: {Running: 2147483648}}}}"))),
		Entry("a time in the status of a job", nobody("Job existing has a time that Volcano cannot read", status("{state: {phase: Running, lastTransitionTime: '2026-01-01t00:00:00z'}}"))),
		Entry("a time in the status of a PodGroup", nobody("PodGroup existing has a time that Volcano cannot read", attempt{existing: group, namespace: "default", patch: "status: " + condition("2026-01-01t00:00:00z")})),
		Entry("a time in a new PodGroup", nobody("has a time that Volcano cannot read", attempt{create: podGroup("default", "status: "+condition("2026-01-01T00:00:00z")), namespace: "default"})),
		Entry("every form of a time", judged{attempt{existing: group, patch: "status: " + condition("2026-02-28T23:59:59.123456789+23:59")}, []string{administrator}, nil}),
		Entry("every form of a duration", judged{status("{runningDuration: 1h30m0.123456789s, running: 1, taskStatusCount: {t: {phase: {Running: 1}}}}"), []string{administrator}, nil}),
		Entry("a short duration", judged{status("{runningDuration: 1.5µs}"), []string{administrator}, nil}),
		Entry("every form of a quantity, in a queue", judged{attempt{create: queue +
			`{capability: {cpu: 1, memory: "1.5Gi", a.com/a: 1e3, a.com/b: "1E3", a.com/c: ".5", a.com/d: "5.", a.com/e: "+100m", a.com/f: "12e-3"}}`}, []string{administrator}, nil}),
		Entry("the largest number", everybody(attempt{existing: group, patch: "spec: {minMember: 2147483647, minTaskMember: {a: 1}, minResources: {cpu: 100n}}"})),
	)
}
