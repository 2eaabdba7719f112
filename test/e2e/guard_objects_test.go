// SPDX-License-Identifier: Apache-2.0

package e2e

import "strings"

// Objects for the attempts of guard_fixture_test.go. Most are made from a pod template.

// template returns a pod template. Spec is added to its spec.
func template(annotations, spec string) string {
	return "metadata: {labels: {app: x}, annotations: {" + annotations + "}}\nspec: {containers: [{name: main, image: i}], " + spec + "}"
}

// volcanoTemplate returns a pod template for Volcano's scheduler.
func volcanoTemplate(annotations string) string {
	return template(annotations, "schedulerName: volcano")
}

// within indents lines.
func within(indent int, text string) string {
	return strings.ReplaceAll("\n"+text, "\n", "\n"+strings.Repeat(" ", indent))
}

func asPod(template string) string { return "apiVersion: v1\nkind: Pod\n" + template }

func podIn(queue string) string {
	return asPod(volcanoTemplate("scheduling.volcano.sh/queue-name: " + queue))
}

const selector = "\n  selector: {matchLabels: {app: x}}\n  template:"

// workloads make objects of kinds with one pod template.
var workloads = map[string]func(template string) string{
	"Pod": asPod,
	"ReplicationController": func(t string) string {
		return "apiVersion: v1\nkind: ReplicationController\nspec:\n  replicas: 0\n  selector: {app: x}\n  template:" + within(4, t)
	},
	"Deployment": func(t string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 0" + selector + within(4, t)
	},
	"ReplicaSet": func(t string) string {
		return "apiVersion: apps/v1\nkind: ReplicaSet\nspec:\n  replicas: 0" + selector + within(4, t)
	},
	"DaemonSet": func(t string) string { return "apiVersion: apps/v1\nkind: DaemonSet\nspec:" + selector + within(4, t) },
	"StatefulSet": func(t string) string {
		return "apiVersion: apps/v1\nkind: StatefulSet\nspec:\n  replicas: 0\n  serviceName: x" + selector + within(4, t)
	},
	"Job": func(t string) string {
		return "apiVersion: batch/v1\nkind: Job\nspec:\n  suspend: true\n  template:" + within(4, strings.Replace(t, "spec: {", "spec: {restartPolicy: Never, ", 1))
	},
	"CronJob": func(t string) string {
		return "apiVersion: batch/v1\nkind: CronJob\nspec:\n  suspend: true\n  schedule: '0 0 1 1 *'\n  jobTemplate:\n    spec:\n      template:" +
			within(8, strings.Replace(t, "spec: {", "spec: {restartPolicy: Never, ", 1))
	},
}

// revision returns a ControllerRevision: a StatefulSet makes pods from it that are not updated yet.
func revision(data string) string {
	return "apiVersion: apps/v1\nkind: ControllerRevision\nrevision: 1\ndata: " + data
}

// volcanoJobs make objects of kinds with the spec of a Volcano Job.
var volcanoJobs = map[string]func(spec string) string{
	"Volcano Job": func(spec string) string {
		return "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nspec:" + within(2, spec)
	},
	"Volcano CronJob": func(spec string) string {
		return "apiVersion: batch.volcano.sh/v1alpha1\nkind: CronJob\nspec:\n  suspend: true\n  schedule: '0 0 1 1 *'\n  jobTemplate:\n    spec:" + within(6, spec)
	},
	"JobTemplate": func(spec string) string {
		return "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobTemplate\nspec:" + within(2, spec)
	},
}

// volcanoJob returns the spec of a Volcano Job in a queue, with one task.
func volcanoJob(queue, template string) string {
	return "minAvailable: 1\nschedulerName: volcano\nqueue: " + queue + "\ntasks:\n- name: t\n  replicas: 1\n  template:" + within(4, template)
}

func podGroup(queue, more string) string {
	return "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nspec: {queue: " + queue + ", minMember: 1}\n" + more
}
