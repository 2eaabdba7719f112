// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// outageSpecs are about a member that is unreachable for a while. They run one after another.
func outageSpecs() {
	It("keeps what runs there charged, deleted or not, until the member is back and it is gone", func(ctx context.Context) {
		f := newFixture(ctx)
		f.propagateAll(ctx)
		team := f.queue(ctx, "team", "root", capable(cores("4")))
		f.volcanoJob(ctx, workload{name: "stays", queue: team, pods: 2, in: west})
		f.deployment(ctx, workload{name: "deleted", queue: team, pods: 2, in: west})
		f.expectRunningIn(ctx, west, "stays", 2)
		f.expectRunningIn(ctx, west, "deleted", 2)
		f.expectReported(ctx, deployments, "deleted")
		f.volcanoJob(ctx, workload{name: "next", queue: team, pods: 2, in: east})
		f.expectHeld(ctx, volcanoJobs, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 6, 4))

		Expect(multicluster.Disconnect(ctx, west)).To(Succeed())
		DeferCleanup(multicluster.Reconnect, west)
		Expect(hub.kube.AppsV1().Deployments(f.namespace).Delete(ctx, "deleted", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)})).To(Succeed())
		By("releasing nothing while the deleted Deployment may run")
		f.expectOtherQueueWorks(ctx)
		f.expectNowhere(ctx, volcanoJobs, "next")
		Expect(f.running(ctx, west, "deleted")).To(Equal(2))

		Expect(multicluster.Reconnect(ctx, west)).To(Succeed())
		f.expectGone(ctx, "deleted")
		f.expectRunningIn(ctx, east, "next", 2)
		f.expectRunningIn(ctx, west, "stays", 2)
		f.Expect(f.replay(ctx).order).To(ConsistOf("stays", "deleted", "elsewhere", "next"))
		Eventually(func() *workv1alpha2.ResourceBinding { return f.binding(ctx, deployments, "deleted") }).WithContext(ctx).Should(BeNil())
	})

	It("notices the end of a job that ended while its member was away", func(ctx context.Context) {
		f := newFixture(ctx)
		f.propagateAll(ctx)
		team := f.queue(ctx, "team", "root", capable(cores("2")))
		f.volcanoJob(ctx, workload{name: "ends", queue: team, pods: 2, in: west})
		f.expectRunningIn(ctx, west, "ends", 2)
		Expect(multicluster.Disconnect(ctx, west)).To(Succeed())
		DeferCleanup(multicluster.Reconnect, west)
		f.finish(ctx, "ends")
		f.volcanoJob(ctx, workload{name: "next", queue: team, pods: 2, in: east})
		f.expectHeld(ctx, volcanoJobs, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 4, 2))
		Expect(multicluster.Reconnect(ctx, west)).To(Succeed())
		f.expectRunningIn(ctx, east, "next", 2)
		f.expectReleased(ctx, "ends", "next")
	})

	It("does not charge a job that has ended there when Karmada moves it", func(ctx context.Context) {
		f := newFixture(ctx)
		f.propagateAll(ctx)
		team := f.queue(ctx, "team", "root", capable(cores("2")))
		f.volcanoJob(ctx, workload{name: "ended", queue: team, pods: 2, in: west, runFor: briefly})
		f.expectNotified(ctx, volcanoJobs, "ended", "Finished")
		Expect(multicluster.Disconnect(ctx, west)).To(Succeed())
		DeferCleanup(multicluster.Reconnect, west)
		moves := `{"spec":{"clusters":[{"name":"east"}],"gracefulEvictionTasks":[{"fromCluster":"west","reason":"TaintUntolerated","producer":"TaintManager"}]}}`
		_, err := karmada.WorkV1alpha2().ResourceBindings(f.namespace).Patch(ctx, "ended-job", types.MergePatchType, []byte(moves), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		f.volcanoJob(ctx, workload{name: "next", queue: team, pods: 2, in: east})
		f.expectRunningIn(ctx, east, "next", 2)
		f.Expect(f.existing(ctx, volcanoJobs, "ended").Annotations).To(HaveKeyWithValue("volcano.sh/hold", ContainSubstring("Returning")))
		Expect(multicluster.Reconnect(ctx, west)).To(Succeed())
		f.expectNotified(ctx, volcanoJobs, "ended", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 4, 2))
	})
}

// expectOtherQueueWorks runs a job in another queue. That takes several cycles of the dispatcher.
func (f *fixture) expectOtherQueueWorks(ctx context.Context) {
	GinkgoHelper()
	f.volcanoJob(ctx, workload{name: "elsewhere", queue: f.queue(ctx, "elsewhere", "root", capable(cores("1"))), pods: 1, in: east, runFor: briefly})
	f.Eventually(func() []string { return f.replay(ctx).order }).WithContext(ctx).Should(ContainElement("elsewhere"))
}
