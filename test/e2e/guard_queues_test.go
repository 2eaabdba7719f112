// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Messages of the policies.
const (
	mayNotUse     = "user stranger may not use queue team-a"
	mayNotDefault = "may not use queue default"
	mayNotJoin    = "user stranger may not add pods to PodGroup "
)

// judged says which users may make an attempt, and which messages the others get.
type judged struct {
	attempt
	allowed []string
	refused map[string]string
}

func (j judged) check(ctx context.Context) {
	GinkgoHelper()
	for _, user := range j.allowed {
		j.as = user
		Expect(j.try(ctx)).To(Succeed(), "attempt of %s", user)
	}
	for user, message := range j.refused {
		j.as = user
		Expect(j.try(ctx)).To(MatchError(ContainSubstring(message)), "attempt of %s", user)
	}
}

// onlyMembers judges an attempt about an object that names the queue team-a.
func onlyMembers(a attempt) judged {
	return judged{a, []string{member, operator, administrator, replicaSets, volcanos}, map[string]string{stranger: mayNotUse}}
}

// onlyThoseWhoJoin judges an attempt about an object with pods that join a PodGroup.
func onlyThoseWhoJoin(a attempt, group string) judged {
	return judged{a, []string{member, operator, administrator, replicaSets, volcanos}, map[string]string{stranger: mayNotJoin + group}}
}

// everybodyRefused makes the judgment refuse all users.
func (j judged) everybodyRefused() judged {
	message := j.refused[member]
	for _, user := range j.allowed {
		j.refused[user] = message
	}
	j.allowed = nil
	return j
}

func everybody(a attempt) judged {
	return judged{a, []string{member, stranger, operator, administrator, replicaSets, volcanos}, nil}
}

func nobodyBut(message string, a attempt, allowed ...string) judged {
	j := judged{a, append(allowed, administrator, volcanos), map[string]string{}}
	for _, user := range []string{member, stranger} {
		if !slices.Contains(allowed, user) {
			j.refused[user] = message
		}
	}
	return j
}

func guardOfQueues() {
	const queueOfTeam, group = "scheduling.volcano.sh/queue-name: team-a", "scheduling.k8s.io/group-name: existing"
	existing := podIn("default")

	DescribeTable("whoever creates an object that names a queue needs the verb use on it:", func(ctx context.Context, j judged) { j.check(ctx) },
		func() (entries []TableEntry) {
			for _, kind := range slices.Sorted(maps.Keys(workloads)) {
				make := workloads[kind]
				entries = append(entries,
					Entry("a "+kind, onlyMembers(attempt{create: make(volcanoTemplate(queueOfTeam))})),
					Entry("a "+kind+" in the default queue", everybody(attempt{create: make(volcanoTemplate(""))})),
					Entry("a "+kind+" of another scheduler", everybody(attempt{create: make(template("", ""))})),
					Entry("a "+kind+" whose pods join a PodGroup", onlyThoseWhoJoin(attempt{create: make(volcanoTemplate(group))}, "existing")))
			}
			for _, kind := range slices.Sorted(maps.Keys(volcanoJobs)) {
				make := volcanoJobs[kind]
				entries = append(entries,
					Entry("a "+kind, onlyMembers(attempt{create: make(volcanoJob("team-a", template("", "")))})),
					Entry("a "+kind+" in the default queue", everybody(attempt{create: make(volcanoJob("default", template("", "")))})),
					Entry("a "+kind+" whose tasks name another queue", judged{
						attempt{create: make(volcanoJob("default", template(queueOfTeam, "")))}, []string{administrator, volcanos},
						map[string]string{stranger: "a template of its tasks names another one", member: "a template of its tasks names another one"}}))
			}
			return entries
		}(),
		Entry("a PodGroup", onlyMembers(attempt{create: podGroup("team-a", "")})),
		Entry("a PodGroup in the default queue", everybody(attempt{create: podGroup("default", "")})),
		Entry("a PodGroup without a queue", everybody(attempt{create: "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nspec: {minMember: 1}"})),
		Entry("a JobFlow, whose JobTemplates name queues", judged{
			attempt{create: "apiVersion: flow.volcano.sh/v1alpha1\nkind: JobFlow\nspec: {flows: [{name: train}], jobRetainPolicy: retain}"},
			[]string{member, administrator, volcanos}, map[string]string{stranger: "may not run the JobTemplates of namespace team-a"}}),
		Entry("a pod with a generated name", onlyMembers(attempt{create: "apiVersion: v1\nkind: Pod\n" +
			"metadata: {generateName: a-, annotations: {" + queueOfTeam + "}}\nspec: {schedulerName: volcano, containers: [{name: main, image: i}]}"})),
		Entry("a pod of another scheduler that names a queue", onlyMembers(attempt{create: asPod(template(queueOfTeam, ""))})),
		Entry("a pod with the annotation of a pod of a Volcano Job", judged{attempt{create: asPod(volcanoTemplate("volcano.sh/queue-name: team-a"))},
			[]string{administrator, volcanos}, map[string]string{stranger: "names several queues, team-a, default", member: "names several queues, team-a, default"}}),
		Entry("a pod that names the queue and a PodGroup", judged{attempt{create: asPod(volcanoTemplate(queueOfTeam + ", " + group))},
			[]string{member, administrator}, map[string]string{stranger: mayNotUse}}),
		Entry("a pod that names two PodGroups", judged{attempt{create: asPod(volcanoTemplate(group + ", scheduling.volcano.sh/group-name: other"))},
			[]string{administrator}, map[string]string{member: "names several PodGroups, existing, other"}}),
		Entry("a pod with a controller, whose PodGroup it joins", onlyThoseWhoJoin(attempt{create: "apiVersion: v1\nkind: Pod\n" +
			"metadata: {ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: theirs, uid: 0a1b, controller: true}]}\n" +
			"spec: {schedulerName: volcano, containers: [{name: main, image: i}]}"}, "podgroup-0a1b")),
		Entry("a pod with an owner that is not its controller", everybody(attempt{create: "apiVersion: v1\nkind: Pod\n" +
			"metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: theirs, uid: 0a1b}]}\n" +
			"spec: {schedulerName: volcano, containers: [{name: main, image: i}]}"})),
		Entry("annotations of a Deployment itself, which Volcano does not read", everybody(attempt{create: "metadata: {annotations: {" + queueOfTeam + "}}\n" +
			workloads["Deployment"](volcanoTemplate(""))})),
		Entry("a namespace that is not guarded", everybody(attempt{namespace: "default", create: podIn("team-a")})),
	)

	DescribeTable("whoever changes an object that names a queue needs the verb use on it:", func(ctx context.Context, j judged) { j.check(ctx) },
		Entry("the queue of a pod", onlyMembers(attempt{existing: existing, patch: "metadata: {annotations: {" + queueOfTeam + "}}"})),
		Entry("the queue of a pod, through its status", onlyMembers(attempt{existing: existing, subresource: "status", patch: "metadata: {annotations: {" + queueOfTeam + "}}"})),
		Entry("the queue of a pod, by a server-side apply", onlyMembers(attempt{existing: existing, apply: podIn("team-a")})),
		Entry("the queue of a pod, by its binding", judged{attempt{existing: existing, subresource: "binding", create: "apiVersion: v1\nkind: Binding\n" +
			"metadata: {name: nobody, annotations: {" + queueOfTeam + "}}\ntarget: {kind: Node, name: node}"}, nil, map[string]string{stranger: "user stranger may not "}}),
		Entry("the PodGroup of a pod", onlyThoseWhoJoin(attempt{existing: existing, patch: "metadata: {annotations: {" + group + "}}"}, "existing")),
		Entry("the PodGroup of a pod, through its status",
			onlyThoseWhoJoin(attempt{existing: existing, subresource: "status", patch: "metadata: {annotations: {" + group + "}}"}, "existing")),
		// In a pod for Volcano, Volcano's controllers would soon name another PodGroup.
		Entry("the controller of a pod, whose PodGroup it then joins", onlyThoseWhoJoin(attempt{existing: asPod(template("", "")),
			patch: "metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: theirs, uid: 0a1b, controller: true}]}"}, "podgroup-0a1b")),
		Entry("the image of a pod that uses the queue", onlyMembers(attempt{existing: podIn("team-a"), patch: "spec: {containers: [{name: main, image: other}]}"})),
		Entry("a label of a pod that uses the queue", everybody(attempt{existing: podIn("team-a"), patch: "metadata: {labels: {a: b}}"})),
		Entry("the status of a pod that uses the queue", everybody(attempt{existing: podIn("team-a"), subresource: "status", patch: "status: {message: m}"})),
		Entry("the template of a Deployment", onlyMembers(attempt{existing: workloads["Deployment"](volcanoTemplate("")),
			patch: "spec: {template: {metadata: {annotations: {" + queueOfTeam + "}}}}"})),
		Entry("the template of a Deployment, by a server-side apply", onlyMembers(attempt{existing: workloads["Deployment"](volcanoTemplate("")),
			apply: workloads["Deployment"](volcanoTemplate(queueOfTeam))})),
		Entry("another part of the template of a Deployment that uses the queue", onlyMembers(attempt{existing: workloads["Deployment"](volcanoTemplate(queueOfTeam)),
			patch: "spec: {template: {spec: {containers: [{name: main, image: other}]}}}"})),
		Entry("replicas of a Deployment that uses the queue", everybody(attempt{existing: workloads["Deployment"](volcanoTemplate(queueOfTeam)), patch: "spec: {replicas: 0, paused: true}"})),
		Entry("the scale of a Deployment that uses the queue", everybody(attempt{existing: workloads["Deployment"](volcanoTemplate(queueOfTeam)),
			subresource: "scale", patch: "spec: {replicas: 1}"})),
		Entry("the template of a CronJob", onlyMembers(attempt{existing: workloads["CronJob"](volcanoTemplate("")),
			patch: "spec: {jobTemplate: {spec: {template: {metadata: {annotations: {" + queueOfTeam + "}}}}}}"})),
		Entry("the queue of a JobTemplate", onlyMembers(attempt{existing: volcanoJobs["JobTemplate"](volcanoJob("default", template("", ""))), patch: "spec: {queue: team-a}"})),
		Entry("the queue of a Volcano CronJob", onlyMembers(attempt{existing: volcanoJobs["Volcano CronJob"](volcanoJob("default", template("", ""))),
			patch: "spec: {jobTemplate: {spec: {queue: team-a}}}"})),
		Entry("the queue of a Volcano Job", onlyMembers(attempt{existing: volcanoJobs["Volcano Job"](volcanoJob("default", template("", ""))), patch: "spec: {queue: team-a}"})),
		Entry("another part of a Volcano Job that uses the queue", onlyMembers(attempt{existing: volcanoJobs["Volcano Job"](volcanoJob("team-a", template("", ""))),
			patch: "spec: {minAvailable: 2}"})),
		Entry("another part of a PodGroup of the queue", onlyMembers(attempt{existing: podGroup("team-a", ""), patch: "spec: {minMember: 2}"})),
	)

	It("says which object, queue and user it refuses, and what to ask for", func(ctx context.Context) {
		Expect(attempt{as: stranger, create: podIn("team-a")}.try(ctx)).To(MatchError(ContainSubstring(
			"user stranger may not use queue team-a, which Pod attempt names: name another queue, or ask an administrator for the verb use on queues.scheduling.volcano.sh team-a in namespace team-a")))
	})

	DescribeTable("only administrators send commands to queues:", func(ctx context.Context, j judged) { j.check(ctx) },
		Entry("a command of any namespace", nobodyBut("may not send a Command to Queue team-a", attempt{namespace: "default", create: command("scheduling.volcano.sh/v1beta1", "Queue")})),
		Entry("a command that another object becomes", nobodyBut("may not send a Command to Queue team-a",
			attempt{namespace: "default", existing: command("v1", "ConfigMap"), patch: "target: {apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue}"})),
		Entry("a command to a job", everybody(attempt{create: command("batch.volcano.sh/v1alpha1", "Job")})),
	)

	It("keeps to the queue of the namespace, to which Volcano's webhook moves what would go to the default queue", func(ctx context.Context) {
		const name = "guard-named"
		must(kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels:      map[string]string{"devicequota.io/guarded": "true"},
			Annotations: map[string]string{upstreamv1beta1.QueueNameAnnotationKey: "team-a"},
		}}, metav1.CreateOptions{}))
		DeferCleanup(deleteNamespace, name)
		for _, object := range []string{asPod(volcanoTemplate("")), podIn("default"), podGroup("default", ""), volcanoJobs["Volcano Job"](volcanoJob("default", template("", ""))),
			asPod(volcanoTemplate("scheduling.volcano.sh/group-name: mine"))} { // Volcano does not read this name of a PodGroup
			Expect(attempt{as: stranger, namespace: name, create: object}.try(ctx)).To(MatchError(ContainSubstring(mayNotUse + ", which ")))
			Expect(attempt{as: stranger, namespace: name, create: object}.try(ctx)).To(MatchError(ContainSubstring("would go to")))
		}
	})
}

// command is the object that Volcano's command line creates to close a queue or to abort a job.
func command(group, kind string) string {
	return "apiVersion: bus.volcano.sh/v1alpha1\nkind: Command\naction: CloseQueue\ntarget: {apiVersion: " + group + ", kind: " + kind + ", name: team-a, uid: x}"
}
