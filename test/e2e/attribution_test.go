// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/test/cluster"
)

var _ = Describe("A pod that runs", func() {
	// grouped creates a PodGroup in a queue, and a pod of the group with a claim of the fixture's class. Only the PodGroup names the queue.
	grouped := func(ctx context.Context, f *fixture, name, queue string) {
		GinkgoHelper()
		group := &upstreamv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
		group.Spec.MinMember, group.Spec.Queue = 1, queue
		must(vc.SchedulingV1beta1().PodGroups(f.namespace).Create(ctx, group, metav1.CreateOptions{}))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{upstreamv1beta1.KubeGroupNameAnnotationKey: name}}}
		pod.Spec = corev1.PodSpec{
			SchedulerName: "volcano", RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/main:v1", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}, Claims: []corev1.ResourceClaim{{Name: "gpu"}},
			}}},
			ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("one")}},
		}
		must(kube.CoreV1().Pods(f.namespace).Create(ctx, pod, metav1.CreateOptions{}))
	}
	refused := func(ctx context.Context, f *fixture, queue, of string) {
		GinkgoHelper()
		f.submit(ctx, gang("next", queue, 1))
		f.expectNotEnqueued(ctx, "next", "InsufficientScalarQuota", insufficient(of, f.class, 1, 2, 1))
		f.deleteJob(ctx, "next")
		Eventually(func() []corev1.Pod { return f.pods(ctx, "next") }).WithContext(ctx).Should(BeEmpty())
	}
	restart := func(ctx context.Context) {
		GinkgoHelper()
		Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
		Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
	}

	It("stays charged to its queue when its PodGroup is deleted, also after a restart of the scheduler", func(ctx context.Context) {
		f := newFixture(ctx)
		org := f.queue(ctx, "org", "root", nil)
		team := f.queue(ctx, "team", org, limit(f.class, 1))
		grouped(ctx, f, "old", team)
		f.expectPodRuns(ctx, "old")
		pod := must(kube.CoreV1().Pods(f.namespace).Get(ctx, "old", metav1.GetOptions{}))
		Expect(pod.Annotations).To(HaveKeyWithValue("volcano.sh/charged-queue", "root/"+org+"/"+team))

		By("deleting the PodGroup")
		Expect(vc.SchedulingV1beta1().PodGroups(f.namespace).Delete(ctx, "old", metav1.DeleteOptions{})).To(Succeed())
		refused(ctx, f, team, team)

		By("restarting the scheduler")
		restart(ctx)
		refused(ctx, f, team, team)

		By("ending the pod")
		Expect(kube.CoreV1().Pods(f.namespace).Delete(ctx, "old", metav1.DeleteOptions{})).To(Succeed())
		f.submit(ctx, gang("last", team, 1))
		f.expectRunning(ctx, "last", 1)
	})

	It("stays charged to its queue when its PodGroup is moved to another queue or replaced by one there", func(ctx context.Context) {
		f := newFixture(ctx)
		team := f.queue(ctx, "team", "root", limit(f.class, 1))
		full := f.queue(ctx, "full", "root", limit(f.class, 0))
		grouped(ctx, f, "old", team)
		f.expectPodRuns(ctx, "old")
		groups := vc.SchedulingV1beta1().PodGroups(f.namespace)
		must(groups.Patch(ctx, "old", types.MergePatchType, []byte(`{"spec":{"queue":"`+full+`"}}`), metav1.PatchOptions{}))
		refused(ctx, f, team, team)

		By("replacing it")
		replacement := &upstreamv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "old"}}
		replacement.Spec.MinMember, replacement.Spec.Queue = 1, full
		Expect(groups.Delete(ctx, "old", metav1.DeleteOptions{})).To(Succeed())
		must(groups.Create(ctx, replacement, metav1.CreateOptions{}))
		Eventually(func(g Gomega) { // wait until the scheduler knows the new one
			group, err := groups.Get(ctx, "old", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(group.Status.Running).To(BeEquivalentTo(1))
		}).WithContext(ctx).Should(Succeed())
		refused(ctx, f, team, team)
		restart(ctx)
		refused(ctx, f, team, team)
	})

	It("stays charged to the queue above its own when that is deleted, also after a restart", func(ctx context.Context) {
		f := newFixture(ctx)
		org := f.queue(ctx, "org", "root", limit(f.class, 1))
		f.queue(ctx, "other", org, nil)
		deleted := f.queue(ctx, "team", org, nil)
		grouped(ctx, f, "old", deleted)
		f.expectPodRuns(ctx, "old")
		Expect(queues.SchedulingV1beta1().Queues().Delete(ctx, deleted, metav1.DeleteOptions{})).To(Succeed())
		refused(ctx, f, f.namespace+"-other", org)
		restart(ctx)
		refused(ctx, f, f.namespace+"-other", org)
	})

	It("cannot be given another record of its charge by a user", func(ctx context.Context) {
		f := newFixture(ctx)
		team := f.queue(ctx, "team", "root", limit(f.class, 1))
		grouped(ctx, f, "old", team)
		f.expectPodRuns(ctx, "old")
		const denied = "only the scheduler writes the annotations volcano.sh/charged-queue, volcano.sh/charged-cards, and volcano.sh/charged-claims"
		for _, value := range []*string{nil, ptr.To("root/other")} {
			patch := must(json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]*string{"volcano.sh/charged-queue": value}}}))
			_, err := kube.CoreV1().Pods(f.namespace).Patch(ctx, "old", types.MergePatchType, patch, metav1.PatchOptions{})
			Expect(err).To(MatchError(ContainSubstring(denied)))
			_, err = kube.CoreV1().Pods(f.namespace).Patch(ctx, "old", types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			Expect(err).To(MatchError(ContainSubstring(denied)))
		}
		must(kube.CoreV1().Pods(f.namespace).Patch(ctx, "old", types.MergePatchType, []byte(`{"metadata":{"annotations":{"note":"mine"}}}`), metav1.PatchOptions{}))
	})
})
