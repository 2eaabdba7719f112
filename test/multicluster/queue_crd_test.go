// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// The Queue CRD of this project, and the CRD that Volcano's chart restores.
var (
	projectCRD = filepath.Join("..", "..", "config", "crd", "scheduling.volcano.sh_queues.yaml")
	stockCRD   = filepath.Join("..", "..", "bin", "crds", "scheduling.volcano.sh_queues.yaml")
)

// queueCRDSpecs are about a Queue CRD without spec.dra on Karmada's API server. They run alone.
func queueCRDSpecs() {
	It("opens no queue, loses no quota, and the quotas hold as soon as the right CRD is back", func(ctx context.Context) {
		f := newFixture(ctx)
		f.propagateAll(ctx)
		f.template(ctx, "one", 1)
		team := f.queue(ctx, "team", "root", withDevices(deviceClass, 2, nil))
		job := func(name string) {
			f.volcanoJob(ctx, workload{name: name, queue: team, pods: 1, claimTemplate: "one"})
		}
		f.volcanoJob(ctx, workload{name: "first", queue: team, pods: 2, claimTemplate: "one"})
		f.expectRunning(ctx, "first", 2)
		f.expectPending(ctx, team, 0)

		Expect(multicluster.Apply(ctx, stockCRD)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return multicluster.Apply(ctx, projectCRD) })
		f.Eventually(func() any { return f.quotaOf(ctx, team) }).WithContext(ctx).Should(BeNil())
		job("second") // the dispatcher would write that it is pending
		f.expectHeld(ctx, volcanoJobs, "second", scalar)
		Expect(dispatchers["main"].Kill()).To(Succeed())
		Expect(dispatchers["main"].Restart(ctx)).To(Succeed())
		job("third")
		f.expectHeld(ctx, volcanoJobs, "third", "QuotaNotRead", team, "apply config/crd")
		f.expectNowhere(ctx, volcanoJobs, "second")

		Expect(multicluster.Apply(ctx, projectCRD)).To(Succeed())
		f.Eventually(func() any { return f.quotaOf(ctx, team) }).WithContext(ctx).ShouldNot(BeNil(), "no write of the queue has dropped its quota")
		f.expectEvent(ctx, volcanoJobs.Kind, "second", scalar, insufficient(team, deviceClass, 1, 3, 2))
		f.expectPending(ctx, team, 2)
		f.finish(ctx, "first")
		f.expectRunning(ctx, "second", 1)
		f.expectRunning(ctx, "third", 1)
	})
}

// quotaOf returns the quota of devices that Karmada's API server serves for a queue.
func (f *fixture) quotaOf(ctx context.Context, queue string) *schedulingv1beta1.DRAQuota {
	GinkgoHelper()
	q, err := hub.queues.SchedulingV1beta1().Queues().Get(ctx, queue, metav1.GetOptions{})
	f.Expect(err).NotTo(HaveOccurred())
	return q.Spec.DRA
}

// expectPending waits until the status of a queue has a number of pending workloads.
func (f *fixture) expectPending(ctx context.Context, queue string, n int32) {
	GinkgoHelper()
	f.Eventually(func() int32 {
		q, err := hub.queues.SchedulingV1beta1().Queues().Get(ctx, queue, metav1.GetOptions{})
		f.Expect(err).NotTo(HaveOccurred())
		return q.Status.Pending
	}).WithContext(ctx).Should(Equal(n), "status.pending of queue %s", queue)
}
