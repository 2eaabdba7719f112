// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/test/cluster"
)

var _ = Describe("A gang whose pods request an extended resource of a DeviceClass", func() {
	const scalar = "InsufficientScalarQuota"

	var (
		f     *fixture
		class string
	)

	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		class = f.model(ctx, "gpu", offering(f.gpu()))
		f.node(ctx, "n", devices(4, "gpu", nil)...)
	})

	It("is not enqueued before the quota of the resource, and of the class, has room for all of it", func(ctx context.Context) {
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 3, limit(class, 3))
		bound := f.watchCards(f.gpu())
		f.cardJob(ctx, "gang", queue, cardTask{resource: f.gpu(), pods: 4})
		f.expectNotEnqueued(ctx, "gang", scalar, "Queue <"+queue+"> has insufficient <")
		setQuota(ctx, queue, limit(class, 4))
		f.expectNotEnqueued(ctx, "gang", scalar, insufficient(queue, string(f.gpu()), 4, 4, 3))
		setQuota(ctx, queue, limit(class, 3))
		setCapability(ctx, queue, f.gpu(), 4)
		f.expectNotEnqueued(ctx, "gang", scalar, insufficient(queue, class, 4, 4, 3))
		setQuota(ctx, queue, limit(class, 4))
		f.expectRunning(ctx, "gang", 4)
		expectAllocated(ctx, queue, class+"/count", 4)
		expectCharge(ctx, queue, f.gpu(), 4)
		Expect(bound.most()).To(Equal(4))
	})

	It("is enqueued if device plugins may serve what the class's quota does not allow", func(ctx context.Context) {
		f.pluginNode(ctx, "old", 2)
		queue := f.queue(ctx, "team", "root", limit(class, 2))
		f.cardJob(ctx, "gang", queue, cardTask{resource: f.gpu(), pods: 4})
		f.expectOn(ctx, "gang", "old", 2)
		f.expectOn(ctx, "gang", "n", 2)
		expectAllocated(ctx, queue, class+"/count", 2)
	})

	It("starts as a whole once nodes have devices for all of it, and holds none before", func(ctx context.Context) {
		f.node(ctx, "m", devices(2, "gpu", nil)...)
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 9, limit(class, 9))
		bound, watch := f.watchCards(f.gpu()), f.watchHolders()
		f.cardJob(ctx, "gang", queue, cardTask{resource: f.gpu(), pods: 2, count: 3}) // four and two devices are not enough for two times three
		Eventually(func() int { return f.phase(ctx, "gang", corev1.PodPending) }).WithContext(ctx).Should(Equal(2))
		waitForCycles(ctx)
		Expect([]int{bound.most(), watch.most(class)}).To(Equal([]int{0, 0}))

		By("leaving the devices to others in the meantime")
		f.node(ctx, "spare", devices(2, "gpu", nil)...) // otherwise, all of the resource is kept for the gang
		f.pod(ctx, "small", queue, needing(f.gpu(), 2))
		f.expectPodRuns(ctx, "small")
		f.node(ctx, "more", devices(3, "gpu", nil)...)
		f.node(ctx, "most", devices(3, "gpu", nil)...)
		f.expectRunning(ctx, "gang", 2)
		expectCharge(ctx, queue, f.gpu(), 8)
		f.expectDevicesOnce(ctx)
	})

	It("is enqueued as soon as all nodes together have as many devices", func(ctx context.Context) {
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 6, limit(class, 6))
		f.cardJob(ctx, "gang", queue, cardTask{resource: f.gpu(), pods: 3, count: 2})
		f.expectNotEnqueued(ctx, "gang", scalar, insufficient("root", string(f.gpu()), 6, 6, 4))
		f.node(ctx, "more", devices(2, "gpu", nil)...)
		f.expectRunning(ctx, "gang", 3)
		expectCharge(ctx, queue, f.gpu(), 6)
	})

	It("that a PodGroup describes counts with its minResources", func(ctx context.Context) {
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 3, nil)
		group := &upstreamv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "group"}}
		group.Spec.Queue, group.Spec.MinMember, group.Spec.MinResources = queue, 2, ptr.To(amount(f.gpu(), "4"))
		must(vc.SchedulingV1beta1().PodGroups(f.namespace).Create(ctx, group, metav1.CreateOptions{}))
		expectWarning(ctx, f.namespace, "PodGroup", "group", scalar, insufficient(queue, string(f.gpu()), 4, 4, 3))
		setCapability(ctx, queue, f.gpu(), 4)
		for _, name := range []string{"a", "b"} {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{upstreamv1beta1.KubeGroupNameAnnotationKey: "group"}}}
			pod.Spec = corev1.PodSpec{SchedulerName: "volcano", Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/main:v1"}}}
			needing(f.gpu(), 2)(&pod.Spec)
			must(kube.CoreV1().Pods(f.namespace).Create(ctx, pod, metav1.CreateOptions{}))
		}
		f.expectPodRuns(ctx, "a")
		f.expectPodRuns(ctx, "b")
		expectCharge(ctx, queue, f.gpu(), 4)
	})
})

var _ = Describe("A scheduler with the plugin overcommit and cardUnlimitedCpuMemory", Ordered, func() {
	BeforeAll(func(ctx context.Context) {
		Expect(controlPlane.UseScheduler(ctx, cluster.Ours, configured(
			"  - name: capacity\n    enableHierarchy: true\n    arguments:\n      cardUnlimitedCpuMemory: true\n  - name: overcommit\n"))).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return controlPlane.UseScheduler(ctx, cluster.Ours, "") })
	})

	It("admits pods with an extended resource of a class that is a card, and exempts them from limits of cpu and memory", func(ctx context.Context) {
		f := newFixture(ctx)
		class := f.model(ctx, "gpu", offering(f.gpu()), ofCard(h100))
		f.node(ctx, "n", devices(4, "gpu", nil)...)
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 4}`)
		changeQueue(ctx, team, func(spec *schedulingv1beta1.QueueSpec) {
			spec.Capability = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")}
		})
		f.cardJob(ctx, "large", team, cardTask{resource: f.gpu(), pods: 2, cpu: "6"})
		f.expectRunning(ctx, "large", 2)
		expectCards(ctx, team, h100+"=2")

		By("limiting other pods")
		f.plain(ctx, "plain", team, 1, 1, amount(corev1.ResourceCPU, "20"), "")
		f.expectNotEnqueued(ctx, "plain", "InsufficientCPUQuota", "Queue <"+team+"> has insufficient <cpu> quota: requested <20>")

		By("keeping out a job that asks for more than the nodes have")
		f.cardJob(ctx, "huge", f.queue(ctx, "free", "root", limit(class, 100)), cardTask{resource: f.gpu(), pods: 100, cpu: "100m"})
		waitForCycles(ctx)
		Expect(f.pods(ctx, "huge")).To(BeEmpty())
	})
})
