// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
)

// Attempts by users with rights on pods and claims of their namespace.
var _ = Describe("The quota of an extended resource holds although a user", func() {
	var (
		f            *fixture
		class, queue string
	)

	// A queue may use two of four devices.
	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		class = f.model(ctx, "gpu", offering(f.gpu()))
		f.node(ctx, "n", devices(4, "gpu", nil)...)
		queue = f.atMostOf(ctx, "team", "root", f.gpu(), 2, limit(class, 2))
	})

	full := func(ctx context.Context, name string) {
		GinkgoHelper()
		f.pod(ctx, name, queue, needing(f.gpu(), 1))
		f.expectPodExplained(ctx, name, Or(ContainSubstring(insufficient(queue, string(f.gpu()), 1, 3, 2)), ContainSubstring(insufficient(queue, class, 1, 3, 2))))
	}
	stillCharged := func(ctx context.Context) {
		GinkgoHelper()
		full(ctx, "more")
		expectCharge(ctx, queue, f.gpu(), 2)
		expectAllocated(ctx, queue, class+"/count", 2)
		killScheduler(ctx)
		expectCharge(ctx, queue, f.gpu(), 2)
		full(ctx, "after-restart")
		Expect(f.getPod(ctx, "more").Spec.NodeName).To(BeEmpty())
	}
	running := func(ctx context.Context) *resourcev1.ResourceClaim {
		GinkgoHelper()
		f.pod(ctx, "runs", queue, needing(f.gpu(), 2))
		f.expectPodRuns(ctx, "runs")
		return f.extendedClaim(ctx, f.getPod(ctx, "runs"))
	}
	claims := func() resourceclient.ResourceClaimInterface {
		return kube.ResourceV1().ResourceClaims(f.namespace)
	}

	It("makes a claim that looks like an extended claim, and uses it in a pod", func(ctx context.Context) {
		owner := f.pod(ctx, "owner", queue, func(*corev1.PodSpec) {})
		f.expectPodRuns(ctx, "owner")
		claim := f.extendedClaimFor(ctx, owner, exactly(class, 3))
		f.pod(ctx, "thief", queue, using(claim.Name))
		f.expectPodExplained(ctx, "thief", Or(ContainSubstring(insufficient(queue, class, 3, 3, 2)), ContainSubstring(insufficient(queue, string(f.gpu()), 3, 3, 2))))
		setCapability(ctx, queue, f.gpu(), 3)
		setQuota(ctx, queue, limit(class, 3))
		f.expectPodRuns(ctx, "thief")
		expectCharge(ctx, queue, f.gpu(), 3)
		expectAllocated(ctx, queue, class+"/count", 3)
	})

	It("asks for devices in an init container and in several containers, so that the pod has more than its effective request", func(ctx context.Context) {
		only := f.atMostOf(ctx, "only", "root", f.gpu(), 2, nil)
		f.pod(ctx, "p", only, func(spec *corev1.PodSpec) {
			spec.InitContainers = []corev1.Container{{Name: "init", Image: spec.Containers[0].Image}}
			spec.Containers = append(spec.Containers, corev1.Container{Name: "second", Image: spec.Containers[0].Image})
			ask(&spec.InitContainers[0], f.gpu(), 2)
			ask(&spec.Containers[0], f.gpu(), 1)
			ask(&spec.Containers[1], f.gpu(), 1)
		})
		f.expectPodExplained(ctx, "p", ContainSubstring(insufficient(only, string(f.gpu()), 4, 4, 2)))
		setCapability(ctx, only, f.gpu(), 4)
		f.expectPodRuns(ctx, "p")
		Expect(f.extendedClaim(ctx, f.getPod(ctx, "p")).Status.Allocation.Devices.Results).To(HaveLen(4))
		expectCharge(ctx, only, f.gpu(), 4)
	})

	It("makes an extended claim for a waiting pod that asks for more devices than the pod", func(ctx context.Context) {
		setCapability(ctx, queue, f.gpu(), 0)
		pod := f.pod(ctx, "greedy", queue, needing(f.gpu(), 1))
		f.expectPodExplained(ctx, "greedy", ContainSubstring(insufficient(queue, string(f.gpu()), 1, 1, 0)))
		watch := f.watchHolders()
		made := f.extendedClaimFor(ctx, pod, exactly(class, 4))
		setCapability(ctx, queue, f.gpu(), 2)
		f.expectPodRuns(ctx, "greedy")
		Expect(f.extendedClaim(ctx, f.getPod(ctx, "greedy")).UID).NotTo(Equal(made.UID))
		expectAllocated(ctx, queue, class+"/count", 1)
		expectCharge(ctx, queue, f.gpu(), 1)
		Expect(watch.most(class)).To(Equal(1))
	})

	It("makes an extended claim for a running pod that has none", func(ctx context.Context) {
		f.pod(ctx, "small", queue, func(*corev1.PodSpec) {})
		f.expectPodRuns(ctx, "small")
		made := f.extendedClaimFor(ctx, f.getPod(ctx, "small"), exactly(class, 2))
		f.allocate(ctx, made, "n", "gpu-0", "gpu-1") // with rights on resourceclaims/status
		expectAllocated(ctx, "root", class+"/count", 2)
		f.pod(ctx, "more", queue, needing(f.gpu(), 2))
		f.expectPodRuns(ctx, "more")
		f.expectDevicesOnce(ctx)
	})

	It("deletes the extended claim of a running pod, and its finalizer", func(ctx context.Context) {
		claim := running(ctx)
		Expect(claims().Delete(ctx, claim.Name, metav1.DeleteOptions{})).To(Succeed())
		Eventually(func() error {
			claim = f.extendedClaim(ctx, f.getPod(ctx, "runs"))
			claim.Status.ReservedFor, claim.Status.Allocation = nil, nil
			_, err := claims().UpdateStatus(ctx, claim, metav1.UpdateOptions{})
			return err
		}).WithContext(ctx).Should(Succeed())
		f.dropFinalizers(ctx, claim.Name)
		f.expectClaims(ctx, 0)
		full(ctx, "more")
		expectCharge(ctx, queue, f.gpu(), 2)

		By("restarting the scheduler, which knows the claim only from the record of the pod")
		killScheduler(ctx)
		waitForCycles(ctx)
		expectCharge(ctx, queue, f.gpu(), 2)
	})

	It("removes the annotation and the owner of the extended claim of a running pod", func(ctx context.Context) {
		claim := running(ctx)
		delete(claim.Annotations, resourcev1.ExtendedResourceClaimAnnotation)
		claim.OwnerReferences = nil
		must(claims().Update(ctx, claim, metav1.UpdateOptions{}))
		waitForCycles(ctx)
		f.pod(ctx, "more", queue, needing(f.gpu(), 1))
		f.expectPodExplained(ctx, "more", ContainSubstring("Queue <"+queue+"> has insufficient <"))
		killScheduler(ctx)
		waitForCycles(ctx)
		Expect(f.getPod(ctx, "more").Spec.NodeName).To(BeEmpty())
		Expect(charge(ctx, queue, f.gpu())).To(BeNumerically(">=", 2))
	})

	It("adds a request for cpu to a running pod", func(ctx context.Context) {
		f.pod(ctx, "runs", queue, func(spec *corev1.PodSpec) {
			needing(f.gpu(), 2)(spec)
			spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("1Mi") // otherwise, the pod cannot be resized
		})
		f.expectPodRuns(ctx, "runs")
		f.patchPodStatus(ctx, "runs", `{"status":{"containerStatuses":[{"name":"main","image":"main:v1","imageID":"main","ready":true,"restartCount":0,
			"started":true,"state":{"running":{}},"resources":{"requests":{"memory":"1Mi"}}}]}}`)
		_, err := kube.CoreV1().Pods(f.namespace).Patch(ctx, "runs", types.StrategicMergePatchType,
			[]byte(`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"1m"}}}]}}`), metav1.PatchOptions{}, "resize")
		Expect(err).NotTo(HaveOccurred())
		stillCharged(ctx)
	})
	It("clears the status of a running pod", func(ctx context.Context) {
		running(ctx)
		f.patchPodStatus(ctx, "runs", `{"status":{"extendedResourceClaimStatus":null}}`)
		stillCharged(ctx)
		f.expectClaims(ctx, 1)
	})

	It("waits until the node of a running pod changes from a device plugin to DRA, and back", func(ctx context.Context) {
		f.pluginNode(ctx, "old", 2)
		f.pod(ctx, "runs", queue, func(spec *corev1.PodSpec) {
			needing(f.gpu(), 2)(spec)
			spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
					{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{f.name("old")}}}}}}}}
		})
		f.expectPodRuns(ctx, "runs")
		invariants.expectChecked(ctx, f.getPod(ctx, "runs"))
		f.patchNodeStatus(ctx, "old", fmt.Sprintf(`{"status":{"allocatable":{%q:null},"capacity":{%[1]q:null}}}`, f.gpu()))
		full(ctx, "more")
		expectCharge(ctx, queue, f.gpu(), 2)
		expectAllocated(ctx, queue) // it has no device of the class
		killScheduler(ctx)
		expectCharge(ctx, queue, f.gpu(), 2)
		f.patchNodeStatus(ctx, "old", fmt.Sprintf(`{"status":{"allocatable":{%q:"2"},"capacity":{%[1]q:"2"}}}`, f.gpu()))
		full(ctx, "again")
		expectCharge(ctx, queue, f.gpu(), 2)
		f.deletePod(ctx, "runs")
		f.expectPodRuns(ctx, "more")
	})
})

var _ = Describe("A pod of the default scheduler with an extended resource", func() {
	// kube-scheduler does not run here: the spec does its writes.
	It("is charged to root, once", func(ctx context.Context) {
		f := newFixture(ctx)
		class := f.model(ctx, "gpu", offering(f.gpu()))
		f.node(ctx, "n", devices(4, "gpu", nil)...)
		queue := f.atMostOf(ctx, "team", "root", f.gpu(), 4, limit(class, 4))
		pod := f.pod(ctx, "stranger", queue, func(spec *corev1.PodSpec) {
			needing(f.gpu(), 3)(spec)
			spec.SchedulerName = corev1.DefaultSchedulerName
		})
		claim := f.extendedClaimFor(ctx, pod, exactly(class, 3))
		f.allocate(ctx, claim, "n", "gpu-0", "gpu-1", "gpu-2")
		f.patchPodStatus(ctx, "stranger", fmt.Sprintf(`{"status":{"extendedResourceClaimStatus":{"resourceClaimName":%q,"requestMappings":[
			{"containerName":"main","resourceName":%q,"requestName":"container-0-request-0"}]}}}`, claim.Name, f.gpu()))
		Eventually(func() error {
			now := f.extendedClaim(ctx, f.getPod(ctx, "stranger"))
			now.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
			_, err := kube.ResourceV1().ResourceClaims(f.namespace).UpdateStatus(ctx, now, metav1.UpdateOptions{})
			return err
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.CoreV1().Pods(f.namespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: "stranger"}, Target: corev1.ObjectReference{Kind: "Node", Name: f.name("n")},
		}, metav1.CreateOptions{})).To(Succeed())
		f.expectPodRuns(ctx, "stranger")
		expectAllocated(ctx, "root", class+"/count", 3)
		expectAllocated(ctx, queue)
		expectCharge(ctx, queue, f.gpu(), 0)

		By("leaving it alone, and its devices")
		f.pod(ctx, "two", queue, needing(f.gpu(), 2))
		f.expectPodExplained(ctx, "two", ContainSubstring(string(f.gpu())))
		f.pod(ctx, "one", queue, needing(f.gpu(), 1))
		f.expectPodRuns(ctx, "one")
		Expect(f.extendedClaim(ctx, f.getPod(ctx, "stranger")).UID).To(Equal(claim.UID))
		f.expectDevicesOnce(ctx)
		killScheduler(ctx)
		expectAllocated(ctx, "root", class+"/count", 4)
		f.deletePod(ctx, "stranger")
		f.expectPodRuns(ctx, "two")
		expectAllocated(ctx, queue, class+"/count", 3)
	})
})
