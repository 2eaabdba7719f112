// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// patchNodeStatus changes the status of a node as its kubelet does.
func (f *fixture) patchNodeStatus(ctx context.Context, node, patch string) {
	GinkgoHelper()
	must(kube.CoreV1().Nodes().Patch(ctx, f.name(node), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"))
}

var _ = Describe("With device plugins on some nodes and DRA on others under one resource name,", func() {
	const scalar = "InsufficientScalarQuota"

	var (
		f     *fixture
		class string
	)

	// Each node has two of the resource.
	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		class = f.model(ctx, "gpu", offering(f.gpu()))
		f.pluginNode(ctx, "old", 2)
		f.node(ctx, "new", devices(2, "gpu", nil)...)
	})

	It("a pod gets either, and the queue's capability of the resource counts both", func(ctx context.Context) {
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 3, limit(class, 8))
		bound, watch := f.watchCards(f.gpu()), f.watchHolders()
		f.cardJobWith(ctx, "either", queue, startingWith(1), cardTask{resource: f.gpu(), pods: 4})
		f.expectRunning(ctx, "either", 3)
		f.expectPodWarnings(ctx, "either", 1, scalar, insufficient(queue, string(f.gpu()), 1, 4, 3))
		expectCharge(ctx, queue, f.gpu(), 3)
		waitForCycles(ctx)
		Expect(bound.most()).To(Equal(3))

		By("filling both nodes")
		setCapability(ctx, queue, f.gpu(), 4)
		f.expectOn(ctx, "either", "old", 2)
		f.expectOn(ctx, "either", "new", 2)
		expectCharge(ctx, queue, f.gpu(), 4)
		expectAllocated(ctx, queue, class+"/count", 2)
		f.expectClaims(ctx, 2)

		By("putting no third pod on either")
		setCapability(ctx, queue, f.gpu(), 9)
		f.pod(ctx, "fifth", queue, needing(f.gpu(), 1))
		f.expectPodExplained(ctx, "fifth", Not(BeEmpty()))
		waitForCycles(ctx)
		Expect([]int{bound.mostOn(f.name("old")), bound.mostOn(f.name("new")), watch.most(class), len(watch.shared())}).To(Equal([]int{2, 2, 2, 0}))
	})

	It("the class's quota counts those that DRA serves", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(class, 1))
		watch := f.watchHolders()
		f.cardJobWith(ctx, "either", queue, startingWith(1), cardTask{resource: f.gpu(), pods: 4})
		f.expectOn(ctx, "either", "old", 2)
		f.expectOn(ctx, "either", "new", 1)
		f.expectPodWarnings(ctx, "either", 1, scalar, insufficient(queue, class, 1, 2, 1))
		expectAllocated(ctx, queue, class+"/count", 1)
		expectCharge(ctx, queue, f.gpu(), 3)

		By("giving a pod that may have no device of the class a place where a plugin serves it")
		none := f.queue(ctx, "none", "root", limit(class, 0))
		f.cardJob(ctx, "plugin", none, cardTask{resource: f.gpu()})
		waitForCycles(ctx)
		Expect(f.phase(ctx, "plugin", corev1.PodRunning)).To(BeZero())
		f.deleteJob(ctx, "either")
		f.expectOn(ctx, "plugin", "old", 1)
		expectAllocated(ctx, none)
		Expect(watch.most(class)).To(Equal(1))
	})

	It("a claim of the class counts for the capability of the resource", func(ctx context.Context) {
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 3, limit(class, 8))
		f.claim(ctx, "plain", exactly(class, 2))
		f.pod(ctx, "claims", queue, using("plain"))
		f.expectPodRuns(ctx, "claims")
		expectCharge(ctx, queue, f.gpu(), 2)
		f.pod(ctx, "requests", queue, needing(f.gpu(), 2))
		f.expectPodExplained(ctx, "requests", ContainSubstring(insufficient(queue, string(f.gpu()), 2, 4, 3)))

		By("refusing a claim beyond the capability of the resource, too")
		f.template(ctx, "two", exactly(class, 2))
		f.submit(ctx, gang("more", queue, 1).fromTemplate("two"))
		f.expectNotEnqueued(ctx, "more", scalar, insufficient(queue, string(f.gpu()), 2, 4, 3))
		f.deleteJob(ctx, "more")
		f.deletePod(ctx, "claims")
		f.expectPodRuns(ctx, "requests")
		expectCharge(ctx, queue, f.gpu(), 2)
	})

	It("a pod with the resource and a claim of the class is charged for both", func(ctx context.Context) {
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 1, limit(class, 8))
		f.claim(ctx, "plain", exactly(class, 1))
		f.pod(ctx, "both", queue, func(spec *corev1.PodSpec) {
			using("plain")(spec)
			needing(f.gpu(), 1)(spec)
			spec.NodeSelector = map[string]string{"fixture": f.namespace} // the node with DRA
		})
		f.expectPodExplained(ctx, "both", ContainSubstring(insufficient(queue, string(f.gpu()), 2, 2, 1)))
		setCapability(ctx, queue, f.gpu(), 2)
		f.expectPodRuns(ctx, "both")
		expectCharge(ctx, queue, f.gpu(), 2)
		expectAllocated(ctx, queue, class+"/count", 2)
		f.expectDevicesOnce(ctx)
	})

	It("a node whose plugin lists none serves the resource by DRA from kubelet 1.35 on", func(ctx context.Context) {
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 8, limit(class, 8))
		f.patchNodeStatus(ctx, "old", fmt.Sprintf(`{"status":{"allocatable":{%q:null},"capacity":{%[1]q:null}}}`, f.gpu()))
		f.patchNodeStatus(ctx, "new", fmt.Sprintf(`{"status":{"nodeInfo":{"kubeletVersion":"v1.34.1"},"allocatable":{%q:"0"},"capacity":{%[1]q:"0"}}}`, f.gpu()))
		f.pod(ctx, "user", queue, needing(f.gpu(), 2))
		f.expectPodExplained(ctx, "user", Not(BeEmpty()))
		waitForCycles(ctx)
		Expect(f.getPod(ctx, "user").Spec.NodeName).To(BeEmpty(), "a kubelet of 1.34 would reject the pod")
		f.patchNodeStatus(ctx, "new", `{"status":{"nodeInfo":{"kubeletVersion":"v1.35.0"}}}`)
		f.expectPodRuns(ctx, "user")
		expectAllocated(ctx, queue, class+"/count", 2)
	})
})

var _ = Describe("Cards that device plugins serve on some nodes and DRA on others", func() {
	const scalar = "InsufficientScalarQuota"

	It("count once each, by the labels of nodes and by the annotation of the class", func(ctx context.Context) {
		f := newFixture(ctx)
		f.model(ctx, "gpu", offering(gpus), ofCard(h100))
		f.gpuNode(ctx, "old", h100, 2)
		f.node(ctx, "new", devices(2, "gpu", nil)...)
		bound := f.watchCards(gpus)
		org := f.cardQueue(ctx, "org", "root", `{"NVIDIA-H100-80GB": 3}`)
		team, other := f.cardQueue(ctx, "team", org, `{"NVIDIA-H100-80GB": 3}`), f.cardQueue(ctx, "other", org, "")
		f.cardJobWith(ctx, "named", team, startingWith(1), cardTask{names: h100, pods: 4})
		f.expectRunning(ctx, "named", 3)
		f.expectPodWarnings(ctx, "named", 1, scalar, "> has insufficient <"+h100+"> quota: requested <1>, total would be <4>, but capability is <3>")
		expectCards(ctx, team, h100+"=3")
		expectCards(ctx, org, h100+"=3")
		waitForCycles(ctx)
		Expect(bound.most()).To(Equal(3))

		By("charging pods that name no card for what they get")
		f.deleteJob(ctx, "named")
		f.cardJobWith(ctx, "unnamed", other, startingWith(1), cardTask{pods: 4})
		f.expectRunning(ctx, "unnamed", 3)
		expectCards(ctx, other, h100+"=3")
		expectCards(ctx, org, h100+"=3")
		setCards(ctx, org, `{"NVIDIA-H100-80GB": 4}`)
		f.expectOn(ctx, "unnamed", "old", 2)
		f.expectOn(ctx, "unnamed", "new", 2)
		expectCards(ctx, org, h100+"=4")
	})

	DescribeTable("are alternatives, each with its quota", func(ctx context.Context, names string) {
		f := newFixture(ctx)
		f.model(ctx, "gpu", offering(gpus), ofCard(a100))
		f.node(ctx, "by-dra", devices(4, "gpu", nil)...)
		f.gpuNode(ctx, "by-plugin", h100, 4)
		bound, watch := f.watchCards(gpus), f.watchHolders()
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-A100-80GB": 1, "NVIDIA-H100-80GB": 2}`)
		f.cardJobWith(ctx, "either", team, startingWith(1), cardTask{names: names, pods: 4})
		f.expectOn(ctx, "either", "by-dra", 1)
		f.expectOn(ctx, "either", "by-plugin", 2)
		expectCards(ctx, team, a100+"=1", h100+"=2")
		f.expectPodWarnings(ctx, "either", 1, scalar, "Queue <"+team+"> has insufficient <")

		By("raising the one that DRA serves")
		setCards(ctx, team, `{"NVIDIA-A100-80GB": 2, "NVIDIA-H100-80GB": 2}`)
		f.expectOn(ctx, "either", "by-dra", 2)
		expectCards(ctx, team, a100+"=2", h100+"=2")
		Expect([]int{bound.mostOn(f.name("by-plugin")), bound.mostOn(f.name("by-dra"))}).To(Equal([]int{2, 2}))
		Expect(watch.shared()).To(BeEmpty())

		By("leaving cards that the pod does not name alone")
		f.cardJob(ctx, "plugin", f.cardQueue(ctx, "other", "root", ""), cardTask{names: h100, pods: 2})
		f.expectOn(ctx, "plugin", "by-plugin", 2)
	},
		Entry("the first by DRA", a100+"|"+h100),
		Entry("the first by a plugin", h100+"|"+a100),
	)
})
