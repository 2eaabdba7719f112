// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/test/cluster"
)

// The Queue CRD of this project, and the CRD that Volcano's chart restores.
var (
	projectCRD = filepath.Join("..", "..", "config", "crd", "scheduling.volcano.sh_queues.yaml")
	stockCRD   = filepath.Join("..", "..", "bin", "crds", "scheduling.volcano.sh_queues.yaml")
)

// These specs have their own cluster: no other case must run while queues have no spec.dra.
var _ = Describe("A Queue CRD without dra", Ordered, func() {
	BeforeAll(func() {
		ownCluster(cluster.Options{Manifests: []string{filepath.Join("..", "..", "config", "samples", "cluster")}})
	})

	It("opens no queue, also after a restart, and the right CRD brings back what was lost", func(ctx context.Context) {
		f := newFixture(ctx)
		full, free := f.queue(ctx, "full", "root", limit(f.class, 2)), f.queue(ctx, "free", "root", nil)
		hidden := f.queue(ctx, "hidden", "root", limit(f.class, 1, "memory", "1024Mi"))
		f.submit(ctx, gang("holder", full, 2))
		f.expectRunning(ctx, "holder", 2)
		f.pod(ctx, "waits", full, fromTemplate("one"))
		f.expectPodUnschedulable(ctx, "waits", insufficient(full, f.class, 1, 3, 2))
		expectLastValid(ctx, full, `"count":2`)
		expectLastValid(ctx, hidden, `"memory":"1Gi"`)
		Expect(getQueue(ctx, full).Generation).To(BeEquivalentTo(1), "the annotation changed the spec")
		Eventually(func() any { return getQueue(ctx, hidden).Status.Allocated }).WithContext(ctx).ShouldNot(BeEmpty(), "the scheduler writes it later")

		Expect(controlPlane.Apply(ctx, stockCRD)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return controlPlane.Apply(ctx, projectCRD) })
		Eventually(func() any { return getQueue(ctx, full).Spec.DRA }).WithContext(ctx).Should(BeNil())
		expectWarning(ctx, "default", "Queue", full, "QuotaFieldMissing", "its last valid quota holds")
		expectMetric(ctx, "volcano_queue_quota_field_served 0")
		writeStatus(ctx, full)
		Expect(getQueue(ctx, full).Generation).To(BeEquivalentTo(1), "the API server counts the loss of spec.dra as a change of the spec")
		f.expectWaitsFor(ctx, 50, "waits", insufficient(full, f.class, 1, 3, 2))

		Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
		Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
		f.submit(ctx, gang("late", full, 1))
		f.expectNotEnqueued(ctx, "late", "InsufficientScalarQuota",
			fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <1>, total would be <3>", full, f.class))
		f.submit(ctx, gang("other", free, 1))
		f.expectRunning(ctx, "other", 1)
		expectMetric(ctx, "volcano_queue_quota_field_served 0")
		f.expectWaitsFor(ctx, 50, "waits", insufficient(full, f.class, 1, 3, 2))

		Expect(controlPlane.Apply(ctx, projectCRD)).To(Succeed())
		Eventually(func() *schedulingv1beta1.DRAQuota { return getQueue(ctx, full).Spec.DRA }).WithContext(ctx).Should(Equal(limit(f.class, 2)))
		Eventually(func() bool { return warned(ctx, "default", "QuotaRestored", "restored the queue's spec.dra") }).WithContext(ctx).Should(BeTrue())
		expectMetric(ctx, "volcano_queue_quota_field_served 1")
		expectMetric(ctx, `volcano_queue_problems{reason="QuotaFieldMissing"} 0`)
		expectLastValid(ctx, full, `"generation":2`)
		Expect(getQueue(ctx, hidden).Generation).To(BeEquivalentTo(1), "a queue that lost nothing was written")
		Expect(getQueue(ctx, hidden).Spec.DRA.Capability).To(HaveKey(f.class))
		f.expectWaitsFor(ctx, 50, "waits", insufficient(full, f.class, 1, 3, 2))

		By("removing the quota on purpose")
		setQuota(ctx, full, nil)
		f.expectPodRuns(ctx, "waits")
		Eventually(func() map[string]string { return getQueue(ctx, full).Annotations }).WithContext(ctx).ShouldNot(HaveKey(schedulingv1beta1.LastValidQuotaAnnotation))
	})

	It("is not assumed when a quota was removed while no scheduler ran", func(ctx context.Context) {
		f := newFixture(ctx)
		queue := f.queue(ctx, "team", "root", limit(f.class, 1))
		f.submit(ctx, gang("holder", queue, 1))
		f.expectRunning(ctx, "holder", 1)
		expectLastValid(ctx, queue, `"count":1`)
		Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
		setQuota(ctx, queue, nil)
		f.pod(ctx, "waits", queue, fromTemplate("one"))
		Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
		expectWarning(ctx, "default", "Queue", queue, "QuotaRemovalUnconfirmed", "delete the annotation volcano.sh/last-valid-quota")
		f.expectWaitsFor(ctx, 50, "waits", insufficient(queue, f.class, 1, 2, 1))

		update(ctx, queues.SchedulingV1beta1().Queues(), queue, func(q *schedulingv1beta1.Queue) {
			delete(q.Annotations, schedulingv1beta1.LastValidQuotaAnnotation)
		})
		f.expectPodRuns(ctx, "waits")
	})

	It("does not lift a card quota that becomes invalid before a restart", func(ctx context.Context) {
		f := newFixture(ctx)
		queue := f.cardQueue(ctx, "cards", "root", `{"NVIDIA-H100-80GB": 3}`)
		expectLastValid(ctx, queue, `"cards":"{\"NVIDIA-H100-80GB\": 3}"`)
		Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
		update(ctx, queues.SchedulingV1beta1().Queues(), queue, func(q *schedulingv1beta1.Queue) {
			q.Annotations[schedulingv1beta1.CardQuotaAnnotation] = `{"NVIDIA-H100-80GB": 3, "NVIDIA-H100-80GB": 4}`
		})
		Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
		expectWarning(ctx, "default", "Queue", queue, "QuotaNotRead", "its last valid quota holds")
	})
})

// expectLastValid waits until the annotation with the last valid quotas of a queue has a text.
func expectLastValid(ctx context.Context, queue, text string) {
	GinkgoHelper()
	Eventually(func() string { return getQueue(ctx, queue).Annotations[schedulingv1beta1.LastValidQuotaAnnotation] }).
		WithContext(ctx).Should(ContainSubstring(text))
}

// expectMetric waits until the scheduler publishes a line.
func expectMetric(ctx context.Context, line string) {
	GinkgoHelper()
	Eventually(func() []string { return strings.Split(schedulerMetrics(ctx), "\n") }).WithContext(ctx).Should(ContainElement(line))
}

// writeStatus writes the status of a queue as Volcano's controllers do.
func writeStatus(ctx context.Context, queue string) {
	GinkgoHelper()
	Eventually(func() error {
		q := getQueue(ctx, queue)
		q.Status.Unknown++
		_, err := queues.SchedulingV1beta1().Queues().UpdateStatus(ctx, q, metav1.UpdateOptions{})
		return err
	}).WithContext(ctx).Should(Succeed())
}

// expectPodUnschedulable waits until the PodScheduled condition of a pod without a node has a message.
func (f *fixture) expectPodUnschedulable(ctx context.Context, name, message string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		pod, err := kube.CoreV1().Pods(f.namespace).Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pod.Spec.NodeName).To(BeEmpty(), "pod %s was bound", name)
		g.Expect(pod.Status.Conditions).To(ContainElement(SatisfyAll(
			HaveField("Type", corev1.PodScheduled), HaveField("Message", ContainSubstring(message)))))
	}).WithContext(ctx).Should(Succeed())
	f.expectCause(ctx, "pods", name, message)
}

// expectWaitsFor waits for a number of scheduling cycles, and checks that a pod still has no node and says why.
func (f *fixture) expectWaitsFor(ctx context.Context, number int, name, message string) {
	GinkgoHelper()
	before := cycles(ctx)
	Eventually(func() int { return cycles(ctx) }).WithContext(ctx).Should(BeNumerically(">=", before+number))
	f.expectPodUnschedulable(ctx, name, message)
}
