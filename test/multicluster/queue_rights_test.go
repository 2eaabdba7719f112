// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"strings"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var _ = Describe("Queues on Karmada's API server", func() {
	It("may be used in guarded namespaces by those who have the verb use on them, whatever names the queue", func(ctx context.Context) {
		f := newFixture(ctx)
		f.guard(ctx)
		letWrite(ctx, writer, karmadas)
		f.letUse(ctx, writer, "team-a")
		walk := &trustWalk{fixture: f}
		Eventually(func() error { // the API server reads policies, labels, and roles after a while
			return walk.try(ctx, writer, f.naming("Deployment", "{scheduling.volcano.sh/queue-name: team-b}", "", ""))
		}).WithContext(ctx).Should(MatchError(ContainSubstring("user writer may not use queue team-b, which Deployment forged names")))
		Eventually(func() error {
			return walk.try(ctx, writer, f.naming("Deployment", "{scheduling.volcano.sh/queue-name: team-a}", "", ""))
		}).WithContext(ctx).Should(Succeed())

		for kind := range forgeable {
			for _, in := range []int{0, 1, 2, 3} {
				names := func(queue string) []string {
					all := []string{"", "", "", ""}
					all[in] = "{scheduling.volcano.sh/queue-name: " + queue + "}"
					return all
				}
				what := fmt.Sprintf("%s, place %d", kind, in)
				a, b := names("team-a"), names("team-b")
				Expect(walk.try(ctx, writer, f.naming(kind, a...))).To(Succeed(), what)
				Expect(walk.try(ctx, writer, f.naming(kind, b...))).To(MatchError(ContainSubstring("may not use queue team-b")), what)
				Expect(walk.try(ctx, karmadas, f.naming(kind, b...))).To(Succeed(), what)
				a[(in+1)%4] = b[in]
				Expect(walk.try(ctx, writer, f.naming(kind, a...))).To(MatchError(ContainSubstring("names several queues")), what)
			}
			Expect(walk.try(ctx, writer, f.naming(kind))).To(MatchError(ContainSubstring("may not use queue default, which "+kind+" forged would go to")), kind)
		}
		for _, object := range []string{
			`{apiVersion: v1, kind: Pod, metadata: {name: forged, annotations: {scheduling.volcano.sh/queue-name: team-b}}, spec: {containers: [{name: main, image: main}]}}`,
			`{apiVersion: v1, kind: Pod, metadata: {name: forged, labels: {scheduling.volcano.sh/queue-name: team-b}}, spec: {containers: [{name: main, image: main}]}}`,
			`{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: forged}, spec: {queue: team-b, tasks: [{name: a, replicas: 1}]}}`,
			`{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: forged, labels: {scheduling.volcano.sh/queue-name: team-b}}, spec: {queue: default}}`,
			`{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: forged}, spec: {tasks: [{template: {metadata: {annotations: {scheduling.volcano.sh/queue-name: team-b}}}}]}}`,
			`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: forged}, spec: {queue: team-b}}`,
			`{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: forged, annotations: {scheduling.volcano.sh/queue-name: team-b}}, spec: {minMember: 1}}`,
		} {
			Expect(walk.try(ctx, writer, f.creating(object))).To(MatchError(ContainSubstring("may not use queue team-b")), object)
			Expect(walk.try(ctx, writer, f.creating(strings.ReplaceAll(object, "team-b", "team-a")))).To(Succeed(), object)
		}
		other := `{apiVersion: v1, kind: Pod, metadata: {name: forged}, spec: {schedulerName: other, containers: [{name: main, image: main}]}}`
		Expect(walk.try(ctx, writer, f.creating(other))).To(Succeed(), "what is not managed")
	})

	It("cannot be changed by those who may not use the new one, and those who may use none may scale", func(ctx context.Context) {
		f := newFixture(ctx)
		f.guard(ctx)
		letWrite(ctx, writer)
		team, other := f.queue(ctx, "team", "root", capable(cores("2"))), f.queue(ctx, "other", "root", capable(cores("2")))
		f.deployment(ctx, workload{name: "web", queue: team, pods: 1})
		f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 1})
		walk := &trustWalk{fixture: f}
		deployment := write{resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, namespace: f.namespace, name: "web"}
		job := write{resource: schema.GroupVersionResource{Group: "batch.volcano.sh", Version: "v1alpha1", Resource: "jobs"}, namespace: f.namespace, name: "train"}
		change := func(w write, patch string) func() error {
			w.patch = patch
			return func() error { return walk.try(ctx, writer, w) }
		}
		no := MatchError(ContainSubstring("user writer may not use queue"))
		for _, patch := range []string{
			`{metadata: {annotations: {scheduling.volcano.sh/queue-name: ` + other + `}}, spec: {template: {metadata: {annotations: {scheduling.volcano.sh/queue-name: ` + other + `}}}}}`,
			`{metadata: {annotations: {scheduling.volcano.sh/queue-name: null}}, spec: {template: {metadata: {annotations: null}}}}`,
			`{spec: {template: {metadata: {annotations: {example.com/any: thing}}}}}`,
		} {
			Eventually(change(deployment, patch)).WithContext(ctx).Should(no, patch)
		}
		Expect(change(job, `{spec: {queue: `+other+`}}`)()).To(MatchError(ContainSubstring("names several queues")))
		Expect(change(job, `{spec: {maxRetry: 7}}`)()).To(no)
		Expect(change(deployment, `{spec: {replicas: 2}}`)()).To(Succeed())
		Expect(change(deployment, `{metadata: {labels: {seen: once}}}`)()).To(Succeed())
	})

	It("know how many replicas there are: users cannot let clusters decide that", func(ctx context.Context) {
		f, walk := newGuardedWalk(ctx)
		queue := f.queue(ctx, "team", "root", capable(cores("2")))
		f.letUse(ctx, writer, queue)
		f.deployment(ctx, workload{name: "web", queue: queue, pods: 1})
		web := write{resource: forgeable["Deployment"].resource, namespace: f.namespace, name: "web"}
		no := MatchError(ContainSubstring("user writer may not let clusters decide how many replicas Deployment web has"))
		label := func(value string) write {
			w := web
			w.patch = fmt.Sprintf(`{metadata: {labels: {resourcetemplate.karmada.io/retain-replicas: %s}}}`, value)
			return w
		}
		Eventually(func() error { return walk.try(ctx, writer, label(`"true"`)) }).WithContext(ctx).Should(no)
		for _, kind := range []string{"Deployment", "StatefulSet"} {
			w := f.naming(kind, "", "", `{resourcetemplate.karmada.io/retain-replicas: "true", scheduling.volcano.sh/queue-name: `+queue+`}`)
			Eventually(func() error { return walk.try(ctx, writer, w) }).WithContext(ctx).Should(MatchError(ContainSubstring("may not let clusters decide")), kind)
			Expect(walk.try(ctx, karmadas, w)).To(Succeed(), kind)
		}
		Expect(walk.try(ctx, writer, label(`"false"`))).To(Succeed())
		Expect(walk.try(ctx, karmadas, label(`"true"`))).To(Succeed())
		f.changeDeployment(ctx, "web", func(d *appsv1.Deployment) {
			metav1.SetMetaDataLabel(&d.ObjectMeta, "resourcetemplate.karmada.io/retain-replicas", "true")
		})
		scaled := web
		scaled.patch = `{spec: {replicas: 2}}`
		Expect(walk.try(ctx, writer, scaled)).To(Succeed(), "another change of what an administrator has labelled")
		Expect(walk.try(ctx, writer, label("null"))).To(Succeed())
	})

	It("know whose pods there are: users cannot let controllers in clusters take over pods, or objects those of controllers", func(ctx context.Context) {
		f, walk := newGuardedWalk(ctx)
		queue := f.queue(ctx, "team", "root", capable(cores("2")))
		f.letUse(ctx, writer, queue)
		pod := func(labels string) write {
			return f.creating(`{apiVersion: v1, kind: Pod, metadata: {name: forged, labels: {` + labels + `}, annotations: {scheduling.volcano.sh/queue-name: ` + queue + `}}, spec: {containers: [{name: main, image: main}]}}`)
		}
		no := MatchError(ContainSubstring("taken over by a controller"))
		for _, label := range []string{"pod-template-hash: x", "controller-uid: x", "batch.kubernetes.io/controller-uid: x"} {
			Eventually(func() error { return walk.try(ctx, writer, pod(label)) }).WithContext(ctx).Should(no, label)
			Expect(walk.try(ctx, karmadas, pod(label))).To(Succeed(), label)
		}
		Expect(walk.try(ctx, writer, pod("app: web"))).To(Succeed())
		job := func(annotations, spec string) write {
			return f.creating(`{apiVersion: batch/v1, kind: Job, metadata: {name: forged, annotations: {scheduling.volcano.sh/queue-name: ` + queue + annotations + `}}, spec: {` + spec +
				`template: {metadata: {labels: {app: web}}, spec: {restartPolicy: Never, containers: [{name: main, image: main}]}}}}`)
		}
		Expect(walk.try(ctx, writer, job("", "manualSelector: true, selector: {matchLabels: {app: web}}, "))).To(no)
		overwrites := job(", work.karmada.io/conflict-resolution: overwrite", "")
		Expect(walk.try(ctx, writer, overwrites)).To(MatchError(ContainSubstring("may not let Job forged overwrite what is in a cluster")))
		Expect(walk.try(ctx, karmadas, overwrites)).To(Succeed())
		Expect(walk.try(ctx, writer, job(", work.karmada.io/conflict-resolution: abort", ""))).To(Succeed())
		policy := f.creating(`{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: forged}, spec: {conflictResolution: Overwrite, resourceSelectors: [{apiVersion: batch/v1, kind: Job}]}}`)
		policy.resource.Resource = "propagationpolicies"
		Expect(walk.try(ctx, writer, policy)).To(MatchError(ContainSubstring("may not let a policy overwrite")))
		Expect(walk.try(ctx, karmadas, policy)).To(Succeed())
	})

	It("know where workloads are: users cannot keep them in clusters that they have left", func(ctx context.Context) {
		f, walk := newGuardedWalk(ctx)
		failover := func(purge string) write {
			w := f.creating(`{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: forged}, spec: {propagateDeps: true, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}],
				failover: {application: {decisionConditions: {tolerationSeconds: 1}, ` + purge + `}}}}`)
			w.resource.Resource = "propagationpolicies"
			return w
		}
		for _, purge := range []string{"purgeMode: Never", "purgeMode: Gracefully, gracePeriodSeconds: 601"} {
			Eventually(func() error { return walk.try(ctx, writer, failover(purge)) }).WithContext(ctx).Should(MatchError(ContainSubstring("may not keep a workload in a cluster that it has left")), purge)
			Expect(walk.try(ctx, karmadas, failover(purge))).To(Succeed(), purge)
		}
		for _, purge := range []string{"purgeMode: Directly", "purgeMode: Gracefully", "gracePeriodSeconds: 600"} {
			Expect(walk.try(ctx, writer, failover(purge))).To(Succeed(), purge)
		}
	})

	It("know whose objects there are: users cannot let Karmada write the labels that say so when it moves them", func(ctx context.Context) {
		f, walk := newGuardedWalk(ctx)
		failover := func(of, label string) write {
			w := f.creating(fmt.Sprintf(`{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: forged}, spec: {propagateDeps: true, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}],
				failover: {%s: {purgeMode: Directly, statePreservation: {rules: [{aliasLabelName: %s, jsonPath: "{.replicas}"}]}}}}}`, of, label))
			w.create = strings.Replace(w.create, "application: {", "application: {decisionConditions: {tolerationSeconds: 1}, ", 1)
			w.resource.Resource = "propagationpolicies"
			return w
		}
		for _, of := range []string{"application", "cluster"} {
			for _, label := range []string{"scheduling.volcano.sh/queue-name", "resourcebinding.karmada.io/permanent-id", "pod-template-hash"} {
				w := failover(of, label)
				Eventually(func() error { return walk.try(ctx, writer, w) }).WithContext(ctx).Should(MatchError(ContainSubstring("may not let Karmada write labels")), label)
				Expect(walk.try(ctx, karmadas, w)).To(Succeed(), label)
			}
			Expect(walk.try(ctx, writer, failover(of, "example.com/checkpoint"))).To(Succeed(), of)
		}
	})

	It("know how many replicas there are: users cannot say that Karmada propagates their autoscalers", func(ctx context.Context) {
		f, walk := newGuardedWalk(ctx)
		scaling := func(name, labels string) write {
			return f.creating(fmt.Sprintf(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: %s, labels: %s},
				spec: {maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`, name, labels))
		}
		no := MatchError(ContainSubstring("user writer may not let clusters decide how many replicas Deployment web has"))
		for _, policy := range []string{"propagationpolicy", "clusterpropagationpolicy"} {
			w := scaling("of-"+policy, `{`+policy+`.karmada.io/permanent-id: x}`)
			Eventually(func() error { return walk.try(ctx, writer, w) }).WithContext(ctx).Should(no)
			Expect(walk.try(ctx, karmadas, w)).To(Succeed())
		}
		Expect(walk.try(ctx, writer, scaling("own", `{any: thing}`))).To(Succeed())
	})

	It("are charged for all that users may propagate from guarded namespaces", func(ctx context.Context) {
		f, walk := newGuardedWalk(ctx)
		selecting := func(kinds ...string) write {
			selectors := make([]string, len(kinds))
			for i, kind := range kinds {
				version, name, _ := strings.Cut(kind, " ")
				selectors[i] = fmt.Sprintf("{apiVersion: %s, kind: %s}", version, name)
			}
			policy := fmt.Sprintf(`{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: forged}, spec: {resourceSelectors: [%s]}}`, strings.Join(selectors, ", "))
			w := f.creating(policy)
			w.resource.Resource = "propagationpolicies"
			return w
		}
		for _, kind := range []string{"apps/v1 ReplicaSet", "apps/v1 DaemonSet", "v1 ReplicationController", "autoscaling/v2 HorizontalPodAutoscaler", "bus.volcano.sh/v1alpha1 Command",
			"rbac.authorization.k8s.io/v1 Role", "v1 LimitRange", "flow.volcano.sh/v1alpha1 JobFlow", "batch/v1beta1 CronJob"} {
			w := selecting("apps/v1 Deployment", kind)
			Eventually(func() error { return walk.try(ctx, writer, w) }).WithContext(ctx).Should(MatchError(ContainSubstring("user writer may not propagate "+kind)), kind)
			Expect(walk.try(ctx, karmadas, w)).To(Succeed(), kind)
		}
		Expect(walk.try(ctx, writer, selecting("apps/v1 Deployment", "apps/v1 StatefulSet", "batch/v1 CronJob", "batch/v1 Job", "batch.volcano.sh/v1alpha1 Job",
			"scheduling.volcano.sh/v1beta1 PodGroup", "v1 Pod", "v1 ConfigMap", "resource.k8s.io/v1 ResourceClaimTemplate"))).To(Succeed())
		for policy, mayStay := range map[string]bool{"resource.k8s.io/v1 ResourceClaimTemplate": false, "resource.k8s.io/v1 ResourceClaim": false, "v1 ConfigMap": true} {
			w := selecting(policy)
			w.create = strings.Replace(w.create, "spec: {", "spec: {preserveResourcesOnDeletion: true, ", 1)
			if mayStay {
				Expect(walk.try(ctx, writer, w)).To(Succeed(), policy)
				w.create = strings.Replace(w.create, "spec: {", "spec: {propagateDeps: true, ", 1)
			}
			Expect(walk.try(ctx, writer, w)).To(MatchError(ContainSubstring("may not leave claims in clusters")), policy)
			Expect(walk.try(ctx, karmadas, w)).To(Succeed(), policy)
		}
		f.propagate(ctx, "older", policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "ReplicaSet"})
		older := selecting("apps/v1 ReplicaSet")
		older.create, older.name, older.patch = "", "older", `{spec: {preserveResourcesOnDeletion: false}}`
		Expect(walk.try(ctx, writer, older)).To(Succeed(), "another change of what was there before")
		older.patch = `{spec: {resourceSelectors: [{apiVersion: apps/v1, kind: ReplicaSet, name: more}]}}`
		Expect(walk.try(ctx, writer, older)).To(MatchError(ContainSubstring("may not propagate apps/v1 ReplicaSet")))
	})
})

// newGuardedWalk returns a guarded namespace, and writes in it for a user and for Karmada.
func newGuardedWalk(ctx context.Context) (*fixture, *trustWalk) {
	f := newFixture(ctx)
	f.guard(ctx)
	letWrite(ctx, writer, karmadas)
	return f, &trustWalk{fixture: f}
}

// guard makes the namespace a guarded one.
func (f *fixture) guard(ctx context.Context) {
	GinkgoHelper()
	_, err := hub.kube.CoreV1().Namespaces().Patch(ctx, f.namespace, types.MergePatchType, []byte(`{"metadata":{"labels":{"devicequota.io/guarded":"true"}}}`), metav1.PatchOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}

// letUse allows a user to use a queue in the namespace.
func (f *fixture) letUse(ctx context.Context, user, queue string) {
	GinkgoHelper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "uses-" + queue}}
	role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{"scheduling.volcano.sh"}, Resources: []string{"queues"}, ResourceNames: []string{queue}, Verbs: []string{"use"}}}
	binding := &rbacv1.RoleBinding{ObjectMeta: role.ObjectMeta, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}
	_, err := hub.kube.RbacV1().Roles(f.namespace).Create(ctx, role, metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
	_, err = hub.kube.RbacV1().RoleBindings(f.namespace).Create(ctx, binding, metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}
