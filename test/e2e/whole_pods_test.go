// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// whole creates pods with pod-level resources (KEP-2837) and without requests in their containers.
func (f *fixture) whole(ctx context.Context, queue string, pods int, resources corev1.ResourceRequirements) {
	for i := range pods {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("whole-", i), Annotations: map[string]string{upstreamv1beta1.QueueNameAnnotationKey: queue}}}
		pod.Spec = corev1.PodSpec{
			SchedulerName: "volcano", NodeSelector: map[string]string{"fixture": f.namespace}, TerminationGracePeriodSeconds: ptr.To[int64](0),
			Resources: &resources, Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/main:v1"}},
		}
		created := must(kube.CoreV1().Pods(f.namespace).Create(ctx, pod, metav1.CreateOptions{}))
		Expect(created.Spec.Resources).NotTo(BeNil(), "the API server keeps resources of pods")
	}
}

// bound returns the number of pods with a node.
func (f *fixture) bound(ctx context.Context) int {
	pods := must(kube.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{}))
	n := 0
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName != "" {
			n++
		}
	}
	return n
}

var _ = Describe("Resources of pods as a whole", func() {
	var f *fixture

	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		f.plainNode(ctx)
	})

	DescribeTable("count against the quota of a queue", func(ctx context.Context, resources corev1.ResourceRequirements) {
		queue := f.limitedQueue(ctx, "four", "root", func(q *upstreamv1beta1.QueueSpec) { q.Capability = amount(corev1.ResourceCPU, "4") })
		f.whole(ctx, queue, 20, resources)
		message := fmt.Sprintf("Queue <%s> has insufficient <cpu> quota: requested <4>, total would be <8>, but capability is <4>", queue)
		Eventually(func(g Gomega) {
			waiting := 0
			pods, err := kube.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			for _, pod := range pods.Items {
				for _, condition := range pod.Status.Conditions {
					if condition.Type == corev1.PodScheduled && condition.Message == message {
						waiting++
					}
				}
			}
			g.Expect(waiting).To(Equal(19), "pods that the queue refuses")
		}).WithContext(ctx).Should(Succeed())
		Expect(f.bound(ctx)).To(Equal(1))
		Eventually(func() string {
			allocated := getQueue(ctx, queue).Status.Allocated[corev1.ResourceCPU]
			return allocated.String()
		}).WithContext(ctx).Should(Equal("4"))
	},
		Entry("requests", corev1.ResourceRequirements{Requests: amount(corev1.ResourceCPU, "4")}),
		Entry("limits, which the API server makes requests", corev1.ResourceRequirements{Limits: amount(corev1.ResourceCPU, "4")}),
	)

	It("take their place on a node", func(ctx context.Context) {
		queue := f.queue(ctx, "unlimited", "root", nil)
		f.whole(ctx, queue, 5, corev1.ResourceRequirements{Requests: amount(corev1.ResourceCPU, "4")})
		Eventually(f.bound).WithContext(ctx).WithArguments(ctx).Should(Equal(2))
		Consistently(f.bound).WithContext(ctx).WithArguments(ctx).Should(Equal(2))
	})

	It("are refused with a reason if they cannot be counted", func(ctx context.Context) {
		queue := f.queue(ctx, "unlimited", "root", nil)
		f.whole(ctx, queue, 1, corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4Ei")}})
		expectWarning(ctx, f.namespace, "Pod", "whole-0", "GetTaskRequestResourceFailed", "it requests <4Ei> of cpu, which is more than can be counted: request less")
		Expect(f.bound(ctx)).To(BeZero())
	})
})
