// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"

	configv1alpha1 "github.com/karmada-io/karmada/pkg/apis/config/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// mistakeScenarios are about bad input. In each, another job of the same queue runs.
var mistakeScenarios = []scenario{
	{
		name: "a binding without a workload is told so",
		run: func(ctx context.Context, f *fixture) {
			binding := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: map[string]string{
				policyv1alpha1.PropagationPolicyPermanentIDLabel: "some-policy",
			}}}
			binding.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: volcanoJobs.APIVersion, Kind: "Job", Namespace: f.namespace, Name: "missing"}
			binding.Spec.Placement = &policyv1alpha1.Placement{}
			_, err := karmada.WorkV1alpha2().ResourceBindings(f.namespace).Create(ctx, binding, metav1.CreateOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.expectEvent(ctx, workv1alpha2.ResourceKindResourceBinding, "orphan", "CannotCount", f.namespace+"/missing")
			f.expectOtherJobRuns(ctx, f.queue(ctx, "team", "root", capable(cores("1"))))
		},
	},
	{
		name: "a workload of a kind that nobody knows counts as Karmada interprets it, and is told so",
		run: func(ctx context.Context, f *fixture) {
			f.interpretReplicaSets(ctx)
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			replicaSets := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "ReplicaSet"}
			f.propagateAs(ctx, "replica-sets", onlyTo(east), replicaSets)
			for _, name := range []string{"first", "second"} {
				w := workload{name: name, queue: team, pods: 2}
				set := &appsv1.ReplicaSet{ObjectMeta: w.meta()}
				set.Spec = appsv1.ReplicaSetSpec{Replicas: ptr.To(w.pods), Selector: w.selector(), Template: w.template(corev1.RestartPolicyAlways)}
				_, err := hub.kube.AppsV1().ReplicaSets(f.namespace).Create(ctx, set, metav1.CreateOptions{})
				f.Expect(err).NotTo(HaveOccurred())
				if name == "first" {
					f.expectRunningIn(ctx, east, "first", 2)
				}
			}
			f.expectHeld(ctx, replicaSets, "second", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 4, 2))
			f.Eventually(func() bool {
				return f.told(ctx, "first-replicaset", "ReplicaSet", "Karmada")
			}).WithContext(ctx).Should(BeTrue(), "an event that says how the kind is counted")
			f.remove(ctx, replicaSets, "first")
			f.expectRunningIn(ctx, east, "second", 2)
		},
	},
	{
		name: "a job whose queue does not exist waits for it",
		run: func(ctx context.Context, f *fixture) {
			f.volcanoJob(ctx, workload{name: "early", queue: f.name("late"), pods: 1})
			f.expectHeld(ctx, volcanoJobs, "early", "QueueNotFound", f.name("late"))
			f.expectOtherJobRuns(ctx, f.queue(ctx, "team", "root", capable(cores("1"))))
			f.queue(ctx, "late", "root", capable(cores("1")))
			f.expectRunning(ctx, "early", 1)
		},
	},
	{
		name: "a job with a malformed card annotation is told so",
		run: func(ctx context.Context, f *fixture) {
			limits := cores("2")
			team := f.queue(ctx, "team", "root", capable(limits), withCards(`{"NVIDIA-H100-80GB": 2}`))
			f.volcanoJob(ctx, workload{name: "malformed", queue: team, pods: 1, requests: cards(1), cards: "NVIDIA-H100-80GB||"})
			f.expectHeld(ctx, volcanoJobs, "malformed", "CannotCount", "volcano.sh/card.name")
			f.expectOtherJobRuns(ctx, team)
		},
	},
	{
		name: "a job with a minimum larger than any capability is told so, and keeps nobody waiting",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.volcanoJob(ctx, workload{name: "giant", queue: team, pods: 3})
			f.expectHeld(ctx, volcanoJobs, "giant", "NeverFits", team, "<3>", "<2>")
			f.nextSecond(ctx, volcanoJobs, "giant")
			f.expectOtherJobRuns(ctx, team)
		},
	},
	{
		name: "a job whose claim template is missing waits for it",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")), withDevices(deviceClass, 1, nil))
			f.volcanoJob(ctx, workload{name: "early", queue: team, pods: 1, claimTemplate: "late"})
			f.expectHeld(ctx, volcanoJobs, "early", "CannotCount", "late")
			f.nextSecond(ctx, volcanoJobs, "early")
			f.expectOtherJobRuns(ctx, team)
			f.template(ctx, "late", 1)
			f.expectRunning(ctx, "early", 1)
		},
	},
	{
		name: "a workload whose PriorityClass is missing is charged all the same",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			for _, member := range members { // only Karmada's API server lacks it
				_, err := member.kube.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: f.name("missing")}}, metav1.CreateOptions{})
				f.Expect(err).NotTo(HaveOccurred())
			}
			f.volcanoJob(ctx, workload{name: "first", queue: team, pods: 2, priority: f.name("missing")})
			f.expectRunning(ctx, "first", 2)
			f.Eventually(func() bool { return f.told(ctx, "first-job", f.name("missing")) }).WithContext(ctx).Should(BeTrue(), "an event that names the PriorityClass")
			f.volcanoJob(ctx, workload{name: "second", queue: team, pods: 1})
			f.expectHeld(ctx, volcanoJobs, "second", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 3, 2))
		},
	},
	{
		name: "a queue whose card quota is malformed grants nothing, and harms no other queue",
		run: func(ctx context.Context, f *fixture) {
			broken := f.queue(ctx, "broken", "root", withCards(`{"NVIDIA-H100-80GB": many}`))
			f.volcanoJob(ctx, workload{name: "waits", queue: broken, pods: 1, requests: cards(1), cards: card})
			f.Eventually(func() bool { return f.told(ctx, "waits-job", broken, schedulingv1beta1.CardQuotaAnnotation) }).WithContext(ctx).Should(BeTrue(), "an event that names the annotation")
			f.expectNowhere(ctx, volcanoJobs, "waits")
			f.expectOtherJobRuns(ctx, f.queue(ctx, "team", "root", capable(cores("1"))))
			f.changeQueue(ctx, broken, withCards(`{"NVIDIA-H100-80GB": 1}`))
			f.expectRunning(ctx, "waits", 1)
		},
	},
	{
		name: "queues above each other in a circle harm no other queue",
		run: func(ctx context.Context, f *fixture) {
			first := f.queue(ctx, "first", "root", capable(cores("1")))
			second := f.queue(ctx, "second", first)
			f.changeQueue(ctx, first, func(q *schedulingv1beta1.Queue) { q.Spec.Parent = second })
			f.volcanoJob(ctx, workload{name: "circular", queue: second, pods: 1})
			f.existing(ctx, volcanoJobs, "circular")
			f.expectOtherJobRuns(ctx, f.queue(ctx, "team", "root", capable(cores("1"))))
		},
	},
}

// expectOtherJobRuns runs a job of one core in a queue.
func (f *fixture) expectOtherJobRuns(ctx context.Context, queue string) {
	GinkgoHelper()
	f.volcanoJob(ctx, workload{name: "other", queue: queue, pods: 1})
	f.expectRunning(ctx, "other", 1)
}

// told reports whether an object has an event, with any reason, that has all given words.
func (f *fixture) told(ctx context.Context, name string, words ...string) bool {
	GinkgoHelper()
	events, err := hub.kube.CoreV1().Events(f.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	f.Expect(err).NotTo(HaveOccurred())
	for i := range events.Items {
		if containsAll(events.Items[i].Message, words) {
			return true
		}
	}
	return false
}

// interpretReplicaSets makes Karmada interpret ReplicaSets, which neither Karmada nor the dispatcher knows, and allows the dispatcher to read them.
func (f *fixture) interpretReplicaSets(ctx context.Context) {
	GinkgoHelper()
	customization := &configv1alpha1.ResourceInterpreterCustomization{ObjectMeta: metav1.ObjectMeta{Name: f.name("replica-sets")}}
	customization.Spec = configv1alpha1.ResourceInterpreterCustomizationSpec{
		Target: configv1alpha1.CustomizationTarget{APIVersion: "apps/v1", Kind: "ReplicaSet"},
		Customizations: configv1alpha1.CustomizationRules{ReplicaResource: &configv1alpha1.ReplicaResourceRequirement{LuaScript: `
local kube = require("kube")
function GetReplicas(obj)
  return obj.spec.replicas, kube.accuratePodRequirements(obj.spec.template)
end`}},
	}
	_, err := karmada.ConfigV1alpha1().ResourceInterpreterCustomizations().Create(ctx, customization, metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
	f.Expect(multicluster.ApplyYAML(ctx, "permissions", []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: vc-dispatcher-replica-sets}
rules:
- {apiGroups: [apps], resources: [replicasets], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: vc-dispatcher-replica-sets}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: vc-dispatcher-replica-sets}
subjects:
- {kind: ServiceAccount, name: vc-dispatcher, namespace: volcano-system}
`))).To(Succeed())
}
