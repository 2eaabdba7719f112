// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util/names"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// othersScenarios are about objects that the dispatcher does not manage.
var othersScenarios = []scenario{
	{
		name: "a ConfigMap goes to its member untouched",
		run: func(ctx context.Context, f *fixture) {
			configMaps := policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "ConfigMap", Name: "settings"}
			f.propagateAs(ctx, "settings", onlyTo(east), configMaps)
			_, err := hub.kube.CoreV1().ConfigMaps(f.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.Eventually(func() error {
				_, err := members[east].kube.CoreV1().ConfigMaps(f.namespace).Get(ctx, "settings", metav1.GetOptions{})
				return err
			}).WithContext(ctx).Should(Succeed())
			f.expectUntouched(ctx, configMaps, "settings")
		},
	},
	{
		name: "a Deployment for another scheduler that names no queue runs at once",
		run: func(ctx context.Context, f *fixture) {
			f.deployment(ctx, workload{name: "web", pods: 1, change: func(pods *corev1.PodTemplateSpec) { pods.Spec.SchedulerName = "default-scheduler" }})
			f.Eventually(func() []corev1.Pod { return f.allPods(ctx, "web") }).WithContext(ctx).Should(HaveLen(1))
			f.expectUntouched(ctx, deployments, "web")
		},
	},
	{
		name: "a claim template that a job needs is not held back with the job",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", withDevices(deviceClass, 1, nil))
			f.template(ctx, "one", 1)
			f.deployment(ctx, workload{name: "web", queue: team, pods: 1, claimTemplate: "one", in: west})
			f.expectRunningIn(ctx, west, "web", 1)
			f.expectUntouched(ctx, policyv1alpha1.ResourceSelector{Kind: "ResourceClaimTemplate"}, "one")
		},
	},
	{
		name: "a binding that somebody else suspends is theirs until they lift that, and waits for its queue then",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.suspendInAdvance(ctx, "theirs")
			f.volcanoJob(ctx, workload{name: "theirs", queue: team, pods: 2})
			f.Eventually(func(g Gomega) { // Karmada has adopted the binding
				g.Expect(f.binding(ctx, volcanoJobs, "theirs").Spec.Placement).NotTo(BeNil())
			}).WithContext(ctx).Should(Succeed())
			f.nextSecond(ctx, volcanoJobs, "theirs")
			f.volcanoJob(ctx, workload{name: "ours", queue: team, pods: 2})
			f.expectRunning(ctx, "ours", 2)
			f.expectNowhere(ctx, volcanoJobs, "theirs")
			f.Expect(f.existing(ctx, volcanoJobs, "theirs").Annotations).NotTo(HaveKey("volcano.sh/hold"))

			f.patchBinding(ctx, "theirs-job", `{"spec":{"suspension":{"scheduling":null}}}`)
			f.expectHeld(ctx, volcanoJobs, "theirs", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 4, 2))
			f.finish(ctx, "ours")
			f.expectRunning(ctx, "theirs", 2)
			f.expectReleased(ctx, "ours", "theirs")
		},
	},
	{
		name: "a policy that suspends dispatching does so still when the queue has room",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.propagateAs(ctx, "suspended", func(spec *policyv1alpha1.PropagationSpec) {
				onlyTo(east)(spec)
				spec.Suspension = &policyv1alpha1.Suspension{Dispatching: ptr.To(true)}
			}, named(deployments, "web"))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2, in: ownPolicy})
			f.Eventually(func(g Gomega) {
				binding := f.existing(ctx, deployments, "web")
				g.Expect(binding.Spec.Clusters).To(HaveLen(1))
				g.Expect(ptr.Deref(binding.Spec.Suspension.Dispatching, false)).To(BeTrue())
			}).WithContext(ctx).Should(Succeed())
			f.Expect(f.allPods(ctx, "web")).To(BeEmpty())
		},
	},
}

// commonQueue is the default queue when all workloads are managed.
const commonQueue = "common"

// commonScenarios run with manageWorkloadsWithoutQueue.
var commonScenarios = []scenario{{
	name: "a Deployment that names no queue waits for the default queue",
	run: func(ctx context.Context, f *fixture) {
		f.deployment(ctx, workload{name: "web", pods: 2, change: func(pods *corev1.PodTemplateSpec) { pods.Spec.SchedulerName = "default-scheduler" }})
		f.expectHeld(ctx, deployments, "web", "QueueNotFound", commonQueue)
		q := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: commonQueue}}
		q.Spec.Weight = 1
		_, err := hub.queues.SchedulingV1beta1().Queues().Create(ctx, q, metav1.CreateOptions{})
		f.Expect(err).NotTo(HaveOccurred())
		f.Eventually(func() []corev1.Pod { return f.allPods(ctx, "web") }).WithContext(ctx).Should(HaveLen(2))
		f.expectNotified(ctx, deployments, "web", "Granted", commonQueue)
	},
}}

// expectUntouched checks that the dispatcher has not changed the binding of an object.
func (f *fixture) expectUntouched(ctx context.Context, kind policyv1alpha1.ResourceSelector, name string) {
	GinkgoHelper()
	binding := f.existing(ctx, kind, name)
	f.Expect(isHeld(binding)).To(BeFalse())
	for _, annotation := range []string{"volcano.sh/hold", "volcano.sh/granted", "volcano.sh/requeued"} {
		f.Expect(binding.Annotations).NotTo(HaveKey(annotation))
	}
	f.Expect(binding.Finalizers).NotTo(ContainElement("volcano.sh/charged"))
}

// suspendInAdvance creates the binding of a Volcano Job before Karmada does, with suspended scheduling. Policies cannot suspend scheduling.
func (f *fixture) suspendInAdvance(ctx context.Context, job string) {
	GinkgoHelper()
	binding := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: names.GenerateBindingName("Job", job)}}
	binding.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: volcanoJobs.APIVersion, Kind: "Job", Namespace: f.namespace, Name: job}
	binding.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: ptr.To(true)}
	_, err := karmada.WorkV1alpha2().ResourceBindings(f.namespace).Create(ctx, binding, metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}

// patchBinding applies a merge patch as the administrator of Karmada.
func (f *fixture) patchBinding(ctx context.Context, name, patch string) {
	GinkgoHelper()
	_, err := karmada.WorkV1alpha2().ResourceBindings(f.namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}

// kubeIn waits until Karmada has created the namespace in a member, and returns a client of the member.
func (f *fixture) kubeIn(ctx context.Context, member string) kubernetes.Interface {
	GinkgoHelper()
	f.Eventually(func() error {
		_, err := members[member].kube.CoreV1().Namespaces().Get(ctx, f.namespace, metav1.GetOptions{})
		return err
	}).WithContext(ctx).Should(Succeed())
	return members[member].kube
}
