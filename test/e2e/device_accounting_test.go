// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/test/cluster"
)

// genericClass creates a class of all devices of the case, and templates for one device of it and for one device of another class.
func (f *fixture) genericClass(ctx context.Context, specific string) string {
	generic := f.name("generic")
	createClass(ctx, generic, fmt.Sprintf("device.driver == %q", f.driver()))
	f.template(ctx, "generic", exactly(generic, 1))
	f.template(ctx, "specific", exactly(specific, 1))
	return generic
}

// expectPodRefused waits until a pod has an event with a reason and message, and checks that it has no node.
func (f *fixture) expectPodRefused(ctx context.Context, name, reason, message string) {
	GinkgoHelper()
	expectWarning(ctx, f.namespace, "Pod", name, reason, message)
	pod := must(kube.CoreV1().Pods(f.namespace).Get(ctx, name, metav1.GetOptions{}))
	Expect(pod.Spec.NodeName).To(BeEmpty())
	f.expectCause(ctx, "pods", name, message)
}

// expectNotifiedOfOverlap waits until a queue has an event that devices of a class that it limits also belong to another class.
func expectNotifiedOfOverlap(ctx context.Context, queue, class, other, eventType string) {
	GinkgoHelper()
	Eventually(eventsIn).WithContext(ctx).WithArguments(ctx, metav1.NamespaceDefault, "reason=ClassesOverlap,type="+eventType+",involvedObject.name="+queue).
		Should(ContainElement(ContainSubstring("devices of class %s belong to %s, too", class, other)))
}

var _ = Describe("Where a device counts for each class that it matches", func() {
	It("a generic class is no way round the quota of a specific one", func(ctx context.Context) {
		f := newFixture(ctx)
		specific := f.model(ctx, "large")
		generic := f.genericClass(ctx, specific)
		f.node(ctx, "large", devices(3, "large", nil)...)
		queue := f.queue(ctx, "team", "root", limit(specific, 1))
		expectNotifiedOfOverlap(ctx, queue, specific, generic, corev1.EventTypeNormal)

		f.submit(ctx, gang("specific", queue, 1).fromTemplate("specific"))
		f.expectRunning(ctx, "specific", 1)
		f.submit(ctx, gang("generic", queue, 1).fromTemplate("generic"))
		f.expectPodRefused(ctx, "generic-worker-0", "InsufficientScalarQuota", insufficient(queue, specific, 1, 2, 1)+
			"; the pod asks for devices of "+generic+", and a device counts for every limited class that it matches")

		By("getting another device of the generic class")
		f.node(ctx, "small", devices(1, "small", nil)...)
		f.expectRunning(ctx, "generic", 1)
		expectAllocated(ctx, queue, specific+"/count", 1, generic+"/count", 1)
	})

	It("a device that was got through the generic class counts for the specific one, and for its card", func(ctx context.Context) {
		f := newFixture(ctx)
		cardName := f.name("card")
		specific := f.model(ctx, "large", func(class *resourcev1.DeviceClass) {
			class.Annotations = map[string]string{card.NameAnnotation: cardName}
		})
		generic := f.genericClass(ctx, specific)
		f.node(ctx, "large", devices(3, "large", nil)...)
		parent := f.queue(ctx, "parent", "root", limit(specific, 2))
		queue := f.cardQueue(ctx, "team", parent, fmt.Sprintf(`{%q: 1}`, cardName))
		f.submit(ctx, gang("generic", queue, 1).fromTemplate("generic"))
		f.expectRunning(ctx, "generic", 1)
		expectAllocated(ctx, parent, specific+"/count", 1, generic+"/count", 1)
		f.submit(ctx, gang("more", queue, 1).fromTemplate("specific"))
		f.expectNotEnqueued(ctx, "more", "InsufficientScalarQuota", insufficient(queue, cardName, 1, 2, 1))
	})

	It("a queue with devices of unknown capacity gets no more through a generic class, and keeps no other queue waiting", func(ctx context.Context) {
		f := newFixture(ctx)
		specific := f.model(ctx, "large")
		f.genericClass(ctx, specific)
		f.node(ctx, "gone", devices(1, "large", bytes("80Gi"))...)
		limited := limit(specific, 4, "memory", "100Gi")
		queue, other := f.queue(ctx, "team", "root", limited), f.queue(ctx, "other", "root", limited)
		f.submit(ctx, gang("holds", queue, 1).fromTemplate("specific"))
		f.expectRunning(ctx, "holds", 1)
		Expect(kube.ResourceV1().ResourceSlices().Delete(ctx, f.name("gone"), metav1.DeleteOptions{})).To(Succeed())
		killScheduler(ctx)

		f.node(ctx, "left", devices(2, "large", bytes("80Gi"))...)
		f.submit(ctx, gang("generic", queue, 1).fromTemplate("generic"))
		f.expectPodRefused(ctx, "generic-worker-0", "GetTaskRequestResourceFailed", "so that its capacity is not known: start its driver again, or delete the claim")
		f.submit(ctx, gang("other", other, 1).fromTemplate("specific"))
		f.expectRunning(ctx, "other", 1)
		f.deleteJob(ctx, "holds")
		f.expectRunning(ctx, "generic", 1)
	})
})

var _ = Describe("Where a quota of devices is required", Ordered, func() {
	const entry = "  - name: capacity\n    enableHierarchy: true\n    arguments:\n      deviceQuotaRequired: true\n      deviceAccounting: "
	const unlisted = "no queue on the way to the root lists the class, which deviceQuotaRequired demands"

	BeforeAll(func() {
		ownCluster(cluster.Options{SchedulerConfig: configured(entry + "requested\n")})
	})

	// expectDefaultClosed checks that a pod without a queue gets no device.
	expectDefaultClosed := func(ctx context.Context, f *fixture) {
		GinkgoHelper()
		pod := f.pod(ctx, "no-queue", "", func(spec *corev1.PodSpec) {
			spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("specific")}}
		})
		Eventually(func(g Gomega) {
			now, err := kube.CoreV1().Pods(f.namespace).Get(ctx, pod.Name, metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(now.Status.Conditions).To(ContainElement(HaveField("Message", And(ContainSubstring("Queue <default> "), ContainSubstring(unlisted)))))
			g.Expect(now.Spec.NodeName).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
	}

	It("only listed classes may be used, and a device counts for the class that was asked for", func(ctx context.Context) {
		f := newFixture(ctx)
		specific := f.model(ctx, "large")
		generic := f.genericClass(ctx, specific)
		f.node(ctx, "large", devices(3, "large", nil)...)
		listed, none := f.queue(ctx, "listed", "root", limits(capability(specific, 0), capability(generic, 1))), f.queue(ctx, "none", "root", nil)
		expectNotifiedOfOverlap(ctx, listed, specific, generic, corev1.EventTypeWarning)
		f.submit(ctx, gang("generic", listed, 1).fromTemplate("generic"))
		f.expectRunning(ctx, "generic", 1)
		expectAllocated(ctx, listed, generic+"/count", 1)
		f.submit(ctx, gang("none", none, 1).fromTemplate("specific"))
		f.expectNotEnqueued(ctx, "none", "EmptyQueueCapability", insufficient(none, specific, 1, 1, 0)+"; "+unlisted)
		expectDefaultClosed(ctx, f)
	})

	It("with matching, one listed class that the device matches suffices", func(ctx context.Context) {
		Expect(controlPlane.UseScheduler(ctx, cluster.Ours, configured(entry+"matching\n"))).To(Succeed())
		f := newFixture(ctx)
		specific := f.model(ctx, "large")
		generic := f.genericClass(ctx, specific)
		f.node(ctx, "small", devices(2, "small", nil)...)
		listed, none := f.queue(ctx, "listed", "root", limit(specific, 1)), f.queue(ctx, "none", "root", nil)
		f.submit(ctx, gang("generic", listed, 1).fromTemplate("generic"))
		f.expectPodRefused(ctx, "generic-worker-0", "EmptyQueueCapability",
			fmt.Sprintf("Queue <%s> has no quota for devices of class <%s>, nor for another class that such a device matches", listed, generic))
		f.node(ctx, "large", devices(1, "large", nil)...)
		f.expectRunning(ctx, "generic", 1)
		expectAllocated(ctx, listed, specific+"/count", 1, generic+"/count", 1)
		f.submit(ctx, gang("none", none, 1).fromTemplate("specific"))
		f.expectNotEnqueued(ctx, "none", "EmptyQueueCapability", fmt.Sprintf("Queue <%s> has no quota for devices of class <%s>", none, specific))
		expectDefaultClosed(ctx, f)
	})
})
