// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"encoding/json"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

var _ = Describe("Karmada with members that run this project's scheduler", func() {
	It("runs a Volcano Job in one member and reports its end on the binding", func(ctx context.Context) {
		f := newFixture(ctx)
		f.propagate(ctx, "jobs", volcanoJobs)
		f.volcanoJob(ctx, workload{name: "train", queue: f.queue(ctx, "team", "root"), pods: 2, runFor: time.Second})

		Eventually(func(g Gomega) {
			binding := f.binding(ctx, volcanoJobs, "train")
			g.Expect(binding).NotTo(BeNil())
			g.Expect(binding.Spec.Clusters).To(HaveLen(1))
			g.Expect(binding.Status.AggregatedStatus).To(HaveLen(1))
			g.Expect(binding.Status.AggregatedStatus[0].Status).NotTo(BeNil())
			var status batchv1alpha1.JobStatus
			g.Expect(json.Unmarshal(binding.Status.AggregatedStatus[0].Status.Raw, &status)).To(Succeed())
			g.Expect(status.State.Phase).To(Equal(batchv1alpha1.Completed))
		}).WithContext(ctx).Should(Succeed())
	})

	It("runs every kind of workload with the claim templates that it uses", func(ctx context.Context) {
		f := newFixture(ctx)
		f.propagate(ctx, "workloads", volcanoJobs, deployments, statefulSets, batchJobs, barePods)
		for kind, create := range map[string]func(context.Context, workload){
			"volcano-job": f.volcanoJob, "deployment": f.deployment, "stateful-set": f.statefulSet, "job": f.batchJob, "pod": f.pod,
		} {
			f.template(ctx, kind, 1)
			create(ctx, workload{name: kind + "-with-device", pods: 1, claimTemplate: kind})
			f.expectRunning(ctx, kind+"-with-device", 1)
		}
	})

	It("scales a Deployment in its member", func(ctx context.Context) {
		f := newFixture(ctx)
		f.propagateAs(ctx, "deployments", onlyTo(west), deployments)
		f.deployment(ctx, workload{name: "web", pods: 2})
		f.expectRunningIn(ctx, west, "web", 2)
		for _, pods := range []int32{4, 1} {
			f.scale(ctx, "web", pods)
			f.expectRunningIn(ctx, west, "web", int(pods))
		}
	})

	It("runs workloads in a member again that was away", func(ctx context.Context) {
		Expect(multicluster.Disconnect(ctx, west)).To(Succeed())
		DeferCleanup(multicluster.Reconnect, west)
		away, err := karmada.ClusterV1alpha1().Clusters().Get(ctx, west, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(meta.IsStatusConditionTrue(away.Status.Conditions, clusterv1alpha1.ClusterConditionReady)).To(BeFalse())

		f := newFixture(ctx)
		f.propagateAs(ctx, "jobs", onlyTo(west), volcanoJobs)
		f.volcanoJob(ctx, workload{name: "train", pods: 1})
		Expect(multicluster.Reconnect(ctx, west)).To(Succeed())
		f.expectRunningIn(ctx, west, "train", 1)
		f.expectReported(ctx, volcanoJobs, "train") // the fixture deletes it
	})
})
