// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("A claim that pods name", func() {
	var f *fixture

	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	It("is written by one pod of a gang at a time, so that all pods are bound at once", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 1))
		f.claim(ctx, "shared", exactly(f.class, 1))
		f.submit(ctx, gang("sharers", queue, 32).usingClaim("shared"))
		f.expectRunning(ctx, "sharers", 32)
		claim := must(kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, "shared", metav1.GetOptions{}))
		Expect(claim.Status.ReservedFor).To(HaveLen(32))
		expectAllocated(ctx, queue, f.class+"/count", 1)
		Expect(eventsIn(ctx, f.namespace, "")).NotTo(ContainElement(MatchRegexp("(?i)the object has been modified")))
	})

	It("keeps a gang of more pods than Kubernetes allows out of its queue, whether or not devices are limited", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", nil)
		f.claim(ctx, "shared", exactly(f.class, 1))
		f.submit(ctx, gang("huge", queue, 257).usingClaim("shared").withoutRequests())
		f.expectNotEnqueued(ctx, "huge", "GetTaskRequestResourceFailed",
			"ResourceClaim "+f.namespace+"/shared: 257 pods of the job's minimum use it, but at most 256 pods can share a claim")
	})

	It("gives its devices back if no pod is left that uses it, because the last one was not bound", func(ctx context.Context) {
		f.node(ctx, "here", devices(2, "gpu", nil)...)
		class := f.model(ctx, "gpu")
		queue := f.queue(ctx, "team", "root", limit(class, 1))
		f.claim(ctx, "left", exactly(class, 1))
		f.claim(ctx, "next", exactly(class, 1))
		left := func() *resourcev1.ResourceClaim {
			return must(kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, "left", metav1.GetOptions{}))
		}
		f.pod(ctx, "ends", queue, using("left"))
		f.expectPodRuns(ctx, "ends")
		f.deletePod(ctx, "ends")
		Eventually(func() *resourcev1.AllocationResult { return left().Status.Allocation }).WithContext(ctx).Should(BeNil())
		f.allocate(ctx, left(), "here", "gpu-0") // it still has the record of its queue

		f.pod(ctx, "waits", queue, using("next"))
		expectWarning(ctx, f.namespace, "Pod", "waits", "InsufficientScalarQuota", insufficient(queue, class, 1, 2, 1))
		f.expectPodRuns(ctx, "waits")
		Expect(left().Status.Allocation).To(BeNil())
		expectAllocated(ctx, queue, class+"/count", 1)
	})

	It("gets other devices if nobody uses it and its waiting pod cannot use those that it has", func(ctx context.Context) {
		f.node(ctx, "here", devices(1, "gpu", nil)...)
		f.node(ctx, "there", devices(1, "gpu", nil)...)
		class := f.model(ctx, "gpu")
		queue := f.queue(ctx, "team", "root", limit(class, 1))
		claim := f.claim(ctx, "stuck", exactly(class, 1))
		claim.Finalizers = []string{resourcev1.Finalizer}
		claim = must(kube.ResourceV1().ResourceClaims(f.namespace).Update(ctx, claim, metav1.UpdateOptions{}))
		claim.Status.Allocation = &resourcev1.AllocationResult{
			NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: onNode(f.name("here"))}}},
			Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{
				Request: claim.Spec.Devices.Requests[0].Name, Driver: f.driver(), Pool: f.name("here"), Device: devices(1, "gpu", nil)[0].Name,
			}}},
		}
		must(kube.ResourceV1().ResourceClaims(f.namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{}))

		f.pod(ctx, "elsewhere", queue, func(spec *corev1.PodSpec) {
			using("stuck")(spec)
			spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: onNode(f.name("there"))}}}}}
		})
		f.expectPodRuns(ctx, "elsewhere")
		expectAllocated(ctx, queue, class+"/count", 1)
	})
})

func onNode(name string) []corev1.NodeSelectorRequirement {
	return []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}
}
