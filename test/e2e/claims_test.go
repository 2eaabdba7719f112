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
	"k8s.io/utils/ptr"
)

var _ = Describe("A claim", func() {
	var (
		f     *fixture
		class string
	)

	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		class = f.model(ctx, "gpu")
		f.node(ctx, "n", devices(4, "gpu", nil)...)
	})

	deletePod := func(ctx context.Context, name string) {
		Expect(kube.CoreV1().Pods(f.namespace).Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
	}

	It("that pods of several queues share is charged to the queue for which it got its devices, and to their ancestor once", func(ctx context.Context) {
		parent := f.queue(ctx, "ml", "root", limit(class, 3))
		left, right := f.queue(ctx, "left", parent, limit(class, 3)), f.queue(ctx, "right", parent, limit(class, 3))
		f.claim(ctx, "shared", exactly(class, 3))
		f.pod(ctx, "first", left, using("shared"))
		f.expectPodRuns(ctx, "first")
		f.pod(ctx, "second", right, using("shared"))
		f.expectPodRuns(ctx, "second")
		f.pod(ctx, "third", left, using("shared"))
		f.expectPodRuns(ctx, "third")
		expectAllocated(ctx, left, class+"/count", 3)
		expectAllocated(ctx, right)
		expectAllocated(ctx, parent, class+"/count", 3)

		deletePod(ctx, "first")
		deletePod(ctx, "third")
		waitForCycles(ctx)
		expectAllocated(ctx, left, class+"/count", 3)
		expectAllocated(ctx, right)
		expectAllocated(ctx, parent, class+"/count", 3)
		deletePod(ctx, "second")
		expectAllocated(ctx, left)
		expectAllocated(ctx, parent)
	})

	It("that a whole gang shares is allocated once for all pods", func(ctx context.Context) {
		// Kubernetes issue 137617: with the upstream plugin, the second pod waits until the allocation of the first is written. But the
		// first is not bound before the second has a node.
		queue := f.queue(ctx, "team", "root", limit(class, 2))
		f.claim(ctx, "shared", exactly(class, 2))
		f.submit(ctx, gang("sharers", queue, 3).usingClaim("shared"))
		f.expectRunning(ctx, "sharers", 3)
		expectAllocated(ctx, queue, class+"/count", 2)
	})

	It("that is already allocated is charged for its devices and binds the pod to their node", func(ctx context.Context) {
		f.node(ctx, "other", devices(4, "gpu", nil)...)
		queue := f.queue(ctx, "team", "root", limit(class, 3))
		claim := f.claim(ctx, "early", all(class))
		f.allocate(ctx, claim, "n", "gpu-1", "gpu-2")
		f.pod(ctx, "user", queue, using("early"))
		f.expectPodRuns(ctx, "user")
		pod := must(kube.CoreV1().Pods(f.namespace).Get(ctx, "user", metav1.GetOptions{}))
		Expect(pod.Spec.NodeName).To(Equal(f.name("n")))
		expectAllocated(ctx, queue, class+"/count", 2)
	})

	It("that is deleted while its pod waits is reported, and is used once it exists again", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(class, 2))
		f.claim(ctx, "large", exactly(class, 3))
		f.pod(ctx, "user", queue, using("large"))
		Eventually(func() bool {
			return warned(ctx, f.namespace, "InsufficientScalarQuota", insufficient(queue, class, 3, 3, 2))
		}).WithContext(ctx).Should(BeTrue())
		Expect(kube.ResourceV1().ResourceClaims(f.namespace).Delete(ctx, "large", metav1.DeleteOptions{})).To(Succeed())
		f.expectWarned(ctx, "ResourceClaim "+f.namespace+"/large does not exist: create it or correct the name")
		f.claim(ctx, "large", exactly(class, 2))
		f.expectPodRuns(ctx, "user")
	})

	It("that a pod of another scheduler uses is charged to root, and named in events of pods that wait for its devices", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(class, 8))
		stranger := f.claim(ctx, "theirs", exactly(class, 3))
		f.allocate(ctx, stranger, "n", "gpu-0", "gpu-1", "gpu-2")
		f.stranger(ctx, queue, "theirs", "n")
		expectWarning(ctx, f.namespace, "Pod", "stranger", "ChargedToRoot", "Scheduler another-scheduler placed the pod outside of all queues: its devices and cards are charged to queue <root>")
		expectAllocated(ctx, "root", class+"/count", 3)
		f.claim(ctx, "ours", exactly(class, 2))
		f.pod(ctx, "user", queue, using("ours"))
		expectAllocated(ctx, queue)
		f.expectWarned(ctx, "Devices that are held by no known queue, and charged to queue <root>: 3 of "+class+" by pod "+f.namespace+"/stranger of another-scheduler")
		deletePod(ctx, "stranger")
		f.expectPodRuns(ctx, "user")
		expectAllocated(ctx, queue, class+"/count", 2)
	})

	It("that cannot be used is reported, affects no other pod, and is used once it is corrected", func(ctx context.Context) {
		queue, strict := f.queue(ctx, "team", "root", limit(class, 8)), f.queue(ctx, "strict", "root", limit(class, 8, "speed", "1"))

		By("asking for a class that does not exist")
		f.claim(ctx, "unknown", exactly(f.name("later"), 1))
		f.pod(ctx, "unknown", queue, using("unknown"))
		f.expectWarned(ctx, "ResourceClaim "+f.namespace+"/unknown: DeviceClass "+f.name("later")+" does not exist: create it or correct the name")

		By("belonging to another pod")
		f.template(ctx, "one-gpu", exactly(class, 1))
		f.pod(ctx, "owner", queue, fromTemplate("one-gpu"))
		f.expectPodRuns(ctx, "owner")
		owner := must(kube.CoreV1().Pods(f.namespace).Get(ctx, "owner", metav1.GetOptions{}))
		theirs := *owner.Status.ResourceClaimStatuses[0].ResourceClaimName
		f.pod(ctx, "thief", queue, fromTemplate("not-made-yet"))
		Eventually(func() error {
			_, err := kube.CoreV1().Pods(f.namespace).Patch(ctx, "thief", types.StrategicMergePatchType,
				fmt.Appendf(nil, `{"status":{"resourceClaimStatuses":[{"name":"not-made-yet","resourceClaimName":%q}]}}`, theirs), metav1.PatchOptions{}, "status")
			return err
		}).WithContext(ctx).Should(Succeed())
		f.expectWarned(ctx, "ResourceClaim "+f.namespace+"/"+theirs+" has the name of this pod's claim but belongs to another pod: delete that claim or this pod")

		By("a queue that limits a capacity which the devices do not have")
		f.claim(ctx, "slow", exactly(class, 1))
		f.pod(ctx, "slow", strict, using("slow"))
		f.expectWarned(ctx, "queue "+strict+" limits "+class+"/speed, a capacity that device "+f.driver()+"/"+f.name("n")+"/gpu-")

		By("asking for a capacity that no device has")
		f.claim(ctx, "strange", sized(exactly(class, 1), "flavour", "1"))
		f.pod(ctx, "strange", queue, using("strange"))
		f.expectWarned(ctx, "ResourceClaim "+f.namespace+"/strange asks for a capacity flavour, which no device has: correct the name")

		By("having devices of a driver that is gone")
		lost := f.claim(ctx, "lost", exactly(class, 1))
		f.allocateFrom(ctx, lost, "gone."+f.driver(), "n", "gpu-9")
		f.pod(ctx, "lost", queue, using("lost"))
		f.expectWarned(ctx, "ResourceClaim "+f.namespace+"/lost holds device gone."+f.driver()+"/"+f.name("n")+"/gpu-9, but driver gone."+f.driver()+" no longer publishes ResourceSlices")

		By("leaving other pods alone")
		f.pod(ctx, "bystander", queue, fromTemplate("one-gpu"))
		f.expectPodRuns(ctx, "bystander")

		By("correcting each of them")
		setQuota(ctx, strict, limit(class, 8))
		f.expectPodRuns(ctx, "slow")
		f.model(ctx, "later")
		f.nodeOf(ctx, "gone."+f.driver(), "spare", device("gpu-9", "later", nil))
		f.node(ctx, "late", devices(1, "later", nil)...)
		f.expectPodRuns(ctx, "unknown")
		f.expectPodRuns(ctx, "lost")
	})

	It("of a pod that was not bound after all is allocated again if the pod cannot use its devices", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(class, 0))
		f.template(ctx, "one-gpu", exactly(class, 1))
		f.pod(ctx, "user", queue, fromTemplate("one-gpu"))
		var claim *resourcev1.ResourceClaim
		Eventually(func(g Gomega) {
			pod, err := kube.CoreV1().Pods(f.namespace).Get(ctx, "user", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(pod.Status.ResourceClaimStatuses).To(HaveLen(1))
			claim, err = kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, *pod.Status.ResourceClaimStatuses[0].ResourceClaimName, metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
		}).WithContext(ctx).Should(Succeed())
		f.allocate(ctx, claim, "gone", "gpu-0")
		setQuota(ctx, queue, limit(class, 1))
		f.expectPodRuns(ctx, "user")
		expectAllocated(ctx, queue, class+"/count", 1)
	})

	It("of a pod that also has a volume is allocated together with the volume", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(class, 1))
		f.boundVolume(ctx, "data")
		f.claim(ctx, "one", exactly(class, 1))
		f.pod(ctx, "user", queue, func(spec *corev1.PodSpec) {
			using("one")(spec)
			spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		})
		f.expectPodRuns(ctx, "user")
		expectAllocated(ctx, queue, class+"/count", 1)
	})

	It("that a finalizer keeps from being deleted is waited for", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(class, 8))
		claim := f.claim(ctx, "going", exactly(class, 1))
		claim.Finalizers = []string{"example.com/keep"}
		must(kube.ResourceV1().ResourceClaims(f.namespace).Update(ctx, claim, metav1.UpdateOptions{}))
		Expect(kube.ResourceV1().ResourceClaims(f.namespace).Delete(ctx, "going", metav1.DeleteOptions{})).To(Succeed())
		f.pod(ctx, "user", queue, using("going"))
		f.expectWarned(ctx, "ResourceClaim "+f.namespace+"/going is being deleted: wait until it is gone and create it again, or use another one")
		update(ctx, kube.ResourceV1().ResourceClaims(f.namespace), "going", func(claim *resourcev1.ResourceClaim) { claim.Finalizers = nil })
		Eventually(func() error {
			_, err := kube.ResourceV1().ResourceClaims(f.namespace).Create(ctx, &resourcev1.ResourceClaim{
				ObjectMeta: metav1.ObjectMeta{Name: "going"}, Spec: asking(exactly(class, 1)),
			}, metav1.CreateOptions{})
			return err
		}).WithContext(ctx).Should(Succeed())
		f.expectPodRuns(ctx, "user")
	})

	It("of a pod that preempts another gets the devices that the other releases", func(ctx context.Context) {
		// With the upstream plugin, a pipelined pod fails to reserve its devices, because its spec has no node yet (volcano pull request 5884).
		queue := f.queue(ctx, "team", "root", limit(class, 4))
		low, high := f.priorityClass(ctx, "low", 1), f.priorityClass(ctx, "high", 1000)
		f.template(ctx, "two", exactly(class, 2))
		f.submit(ctx, elastic("low", queue, 2, "two").withPriority(low))
		f.expectRunning(ctx, "low", 2)
		f.submit(ctx, gang("high", queue, 1).fromTemplate("two").withPriority(high))
		f.expectRunning(ctx, "high", 1)
		f.expectRunning(ctx, "low", 1)
		expectAllocated(ctx, queue, class+"/count", 4)
	})
})

func fromTemplate(template string) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		spec.ResourceClaims = append(spec.ResourceClaims, corev1.PodResourceClaim{Name: template, ResourceClaimTemplateName: ptr.To(template)})
		spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	}
}

// expectWarned waits for a warning with a message about any object in the namespace.
func (f *fixture) expectWarned(ctx context.Context, message string) {
	GinkgoHelper()
	Eventually(eventsIn).WithContext(ctx).WithArguments(ctx, f.namespace, "type=Warning").Should(ContainElement(ContainSubstring(message)))
}
