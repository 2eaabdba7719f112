// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// deleteClass deletes a class that the case created.
func deleteClass(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(kube.ResourceV1().DeviceClasses().Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
}

// offeredBy returns the class of the devices of a pod.
func (f *fixture) offeredBy(ctx context.Context, pod string) string {
	GinkgoHelper()
	return f.extendedClaim(ctx, f.getPod(ctx, pod)).Spec.Devices.Requests[0].Exactly.DeviceClassName
}

var _ = Describe("A pod that waits with an extended resource of a DeviceClass", func() {
	var (
		f     *fixture
		class string
	)

	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		class = f.passingModel(ctx, "gpu", "gpu")
		f.node(ctx, "n", devices(4, "gpu", nil)...)
	})

	It("says which quota or which devices it waits for, with numbers", func(ctx context.Context) {
		byName, byClass := f.atMostOf(ctx, "name", "root", f.gpu(), 2, nil), f.queue(ctx, "class", "root", limit(class, 2))
		free := f.queue(ctx, "free", "root", limit(class, 100))
		f.pod(ctx, "name", byName, needing(f.gpu(), 3))
		f.expectPodExplained(ctx, "name", ContainSubstring(insufficient(byName, string(f.gpu()), 3, 3, 2)))
		f.pod(ctx, "class", byClass, needing(f.gpu(), 3))
		f.expectPodExplained(ctx, "class", ContainSubstring(insufficient(byClass, class, 3, 3, 2)))

		f.deletePod(ctx, "name") // otherwise, the resource is kept for them
		f.deletePod(ctx, "class")

		By("needing more devices than any node has")
		f.pod(ctx, "large", free, needing(f.gpu(), 5))
		f.expectPodExplained(ctx, "large", SatisfyAll(Or(ContainSubstring(string(f.gpu())), ContainSubstring(class)), number(5)))
		By("needing more devices than are free")
		f.pod(ctx, "holds", free, needing(f.gpu(), 3))
		f.expectPodRuns(ctx, "holds")
		f.pod(ctx, "waits", free, needing(f.gpu(), 2))
		f.expectPodExplained(ctx, "waits", SatisfyAll(Or(ContainSubstring(string(f.gpu())), ContainSubstring(class)), number(2)))
		f.deletePod(ctx, "holds")
		f.expectPodRuns(ctx, "waits")
	})

	It("says that nobody offers the resource, until a class offers it", func(ctx context.Context) {
		deleteClass(ctx, class)
		queue := f.queue(ctx, "team", "root", nil)
		f.pod(ctx, "user", queue, needing(f.gpu(), 2))
		f.expectPodExplained(ctx, "user", ContainSubstring(string(f.gpu())))
		f.passingModel(ctx, "later", "gpu")
		f.expectPodRuns(ctx, "user")
		Expect(f.offeredBy(ctx, "user")).To(Equal(f.name("later")))
	})

	It("gets devices of the class that its resource moves to", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limits(capability(class, 0), capability(f.name("other"), 2)))
		f.pod(ctx, "user", queue, needing(f.gpu(), 2))
		f.expectPodExplained(ctx, "user", ContainSubstring(insufficient(queue, class, 2, 2, 0)))
		other := f.model(ctx, "other")
		f.node(ctx, "m", devices(2, "other", nil)...)
		changeClass(ctx, class, offering(f.nic()))
		changeClass(ctx, other, offering(f.gpu()))
		f.expectPodRuns(ctx, "user")
		Expect(f.offeredBy(ctx, "user")).To(Equal(other))
		expectAllocated(ctx, queue, other+"/count", 2)
		expectCharge(ctx, queue, f.gpu(), 2)
	})

	It("gets devices of the newest of the classes that offer its resource, and both classes are named", func(ctx context.Context) {
		// The API server stores times of creation in seconds.
		created := must(kube.ResourceV1().DeviceClasses().Get(ctx, class, metav1.GetOptions{}))
		Eventually(time.Now).WithContext(ctx).Should(BeTemporally(">=", created.CreationTimestamp.Add(time.Second)))
		newest := f.passingModel(ctx, "newest", "newest")
		f.node(ctx, "m", devices(2, "newest", nil)...)
		queue := f.queue(ctx, "team", "root", limits(capability(class, 2), capability(newest, 2)))
		f.pod(ctx, "user", queue, needing(f.gpu(), 2))
		f.expectPodRuns(ctx, "user")
		Expect(f.offeredBy(ctx, "user")).To(Equal(newest))
		expectAllocated(ctx, queue, newest+"/count", 2)
		Eventually(eventsIn).WithContext(ctx).WithArguments(ctx, metav1.NamespaceDefault, "type=Warning").
			Should(ContainElement(names(class, newest, string(f.gpu()))))

		By("going back to the other when the newest is deleted")
		deleteClass(ctx, newest)
		f.pod(ctx, "next", queue, needing(f.gpu(), 2))
		f.expectPodRuns(ctx, "next")
		Expect(f.offeredBy(ctx, "next")).To(Equal(class))
		expectCharge(ctx, queue, f.gpu(), 4)
	})

	It("cannot ask for a fraction, and a job that does says so", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(class, 4))
		half := func(spec *corev1.PodSpec) {
			needing(f.gpu(), 1)(spec)
			spec.Containers[0].Resources.Requests[f.gpu()] = resource.MustParse("500m")
			spec.Containers[0].Resources.Limits[f.gpu()] = resource.MustParse("500m")
		}
		f.cardJobWith(ctx, "half", queue, func(job *batchv1alpha1.Job) { half(&job.Spec.Tasks[0].Template.Spec) }, cardTask{resource: f.gpu()})
		Eventually(eventsIn).WithContext(ctx).WithArguments(ctx, f.namespace, "type=Warning").
			Should(ContainElement(SatisfyAll(ContainSubstring("500m"), Or(ContainSubstring("integer"), ContainSubstring("whole")))))

		By("harming nobody else")
		f.pod(ctx, "user", queue, needing(f.gpu(), 4))
		f.expectPodRuns(ctx, "user")
		expectAllocated(ctx, queue, class+"/count", 4)
	})
})

var _ = Describe("A pod that runs with an extended resource of a DeviceClass", func() {
	var (
		f            *fixture
		class, queue string
	)

	// A pod uses two of four devices.
	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		class = f.passingModel(ctx, "gpu", "gpu")
		f.node(ctx, "n", devices(4, "gpu", nil)...)
		queue = f.atMostOf(ctx, "team", "root", f.gpu(), 3, limit(class, 3))
		f.pod(ctx, "runs", queue, needing(f.gpu(), 2))
		f.expectPodRuns(ctx, "runs")
	})

	It("stays charged when its class is deleted, and created again", func(ctx context.Context) {
		deleteClass(ctx, class)
		f.pod(ctx, "next", queue, needing(f.gpu(), 1))
		f.expectPodExplained(ctx, "next", ContainSubstring(string(f.gpu())))
		expectCharge(ctx, queue, f.gpu(), 2)
		f.passingModel(ctx, "gpu", "gpu")
		f.expectPodRuns(ctx, "next")
		expectCharge(ctx, queue, f.gpu(), 3)
		expectAllocated(ctx, queue, class+"/count", 3)
		Expect(f.getPod(ctx, "runs").Status.Phase).To(Equal(corev1.PodRunning))
		f.expectDevicesOnce(ctx)
	})

	It("stays charged for its devices when another class offers its resource", func(ctx context.Context) {
		other := f.model(ctx, "other")
		f.node(ctx, "m", devices(4, "other", nil)...)
		setQuota(ctx, queue, limits(capability(class, 3), capability(other, 3)))
		changeClass(ctx, class, offering(f.nic()))
		changeClass(ctx, other, offering(f.gpu()))
		f.pod(ctx, "next", queue, needing(f.gpu(), 1))
		f.expectPodRuns(ctx, "next")
		Expect(f.offeredBy(ctx, "next")).To(Equal(other))
		expectCharge(ctx, queue, f.gpu(), 3)
		expectAllocated(ctx, queue, class+"/count", 2, other+"/count", 1)

		By("refusing more, also after a restart")
		killScheduler(ctx)
		expectCharge(ctx, queue, f.gpu(), 3)
		expectAllocated(ctx, queue, class+"/count", 2, other+"/count", 1)
		f.pod(ctx, "more", queue, needing(f.gpu(), 1))
		f.expectPodExplained(ctx, "more", ContainSubstring(insufficient(queue, string(f.gpu()), 1, 4, 3)))
		f.deletePod(ctx, "runs")
		f.expectPodRuns(ctx, "more")
		expectAllocated(ctx, queue, other+"/count", 2)
	})
})
