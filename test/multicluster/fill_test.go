// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// fillScenarios are about queues that fill up.
var fillScenarios = []scenario{
	{
		name: "a queue fills up across two members, and what it holds back runs when a job ends in its member",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.volcanoJob(ctx, workload{name: "first", queue: team, pods: 2, in: east})
			f.expectRunningIn(ctx, east, "first", 2)
			f.volcanoJob(ctx, workload{name: "second", queue: team, pods: 2, in: west})
			f.expectRunningIn(ctx, west, "second", 2)
			f.volcanoJob(ctx, workload{name: "third", queue: team, pods: 2})
			f.expectHeld(ctx, volcanoJobs, "third", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 6, 4))
			f.expectQueueStatus(ctx, team, "4", 1)
			f.expectMetrics(ctx, fmt.Sprintf(`volcano_dispatcher_queue_allocated_milli_cpu{queue_name=%q} 4000`, team),
				fmt.Sprintf(`volcano_dispatcher_workloads{queue=%q,state="pending"} 1`, team))
			f.finish(ctx, "first")
			f.expectRunning(ctx, "third", 2)
			f.expectReleased(ctx, "first", "second", "third")
			f.expectNotified(ctx, volcanoJobs, "third", "Granted", team)
			f.expectQueueStatus(ctx, team, "4", 0)
		},
	},
	{
		name: "every kind of workload counts, however it names its queue",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("5")))
			f.volcanoJob(ctx, workload{name: "volcano-job", queue: team, pods: 1})
			f.deployment(ctx, workload{name: "deployment", queue: team, pods: 1})
			f.statefulSet(ctx, workload{name: "stateful-set", queue: team, pods: 1})
			f.batchJob(ctx, workload{name: "job", queue: team, pods: 1})
			f.pod(ctx, workload{name: "pod", queue: team, pods: 1})
			for _, name := range []string{"volcano-job", "deployment", "stateful-set", "job", "pod"} {
				f.expectRunning(ctx, name, 1)
			}
			f.deployment(ctx, workload{name: "by-label-of-pods", pods: 1, change: func(pods *corev1.PodTemplateSpec) {
				metav1.SetMetaDataLabel(&pods.ObjectMeta, "scheduling.volcano.sh/queue-name", team)
			}})
			f.expectHeld(ctx, deployments, "by-label-of-pods", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 6, 5))
			f.nextSecond(ctx, deployments, "by-label-of-pods")
			f.deployment(ctx, workload{name: "by-annotation-of-pods", pods: 1, change: func(pods *corev1.PodTemplateSpec) {
				metav1.SetMetaDataAnnotation(&pods.ObjectMeta, "scheduling.volcano.sh/queue-name", team)
			}})
			f.expectHeld(ctx, deployments, "by-annotation-of-pods", "WaitsBehind", "by-label-of-pods", team)
		},
	},
	{
		name: "what a queue holds back runs when its capability is raised",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("1")))
			f.volcanoJob(ctx, workload{name: "wide", queue: team, pods: 2})
			f.expectHeld(ctx, volcanoJobs, "wide", "NeverFits", team, "<2>", "<1>")
			f.changeQueue(ctx, team, capable(cores("2")))
			f.expectRunning(ctx, "wide", 2)
		},
	},
	{
		name: "a capability that is lowered below what is in use stops new jobs only",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.volcanoJob(ctx, workload{name: "first", queue: team, pods: 2})
			f.expectRunning(ctx, "first", 2)
			f.changeQueue(ctx, team, capable(cores("1")))
			f.volcanoJob(ctx, workload{name: "second", queue: team, pods: 1})
			f.expectHeld(ctx, volcanoJobs, "second", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 3, 1))
			f.Expect(f.allPods(ctx, "first")).To(HaveLen(2))
			f.finish(ctx, "first")
			f.expectRunning(ctx, "second", 1)
		},
	},
	{
		name: "a job that each member gets whole counts once for each",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("3")))
			f.propagateAs(ctx, "to-both", func(spec *policyv1alpha1.PropagationSpec) {
				spec.Placement.SpreadConstraints = nil
				spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{east, west}}
			}, named(volcanoJobs, "twice"))
			f.volcanoJob(ctx, workload{name: "twice", queue: team, pods: 2, in: ownPolicy})
			f.expectHeld(ctx, volcanoJobs, "twice", "NeverFits", team, "<4>", "<3>")
			f.changeQueue(ctx, team, capable(cores("4")))
			f.expectRunningIn(ctx, east, "twice", 2)
			f.expectRunningIn(ctx, west, "twice", 2)
			f.volcanoJob(ctx, workload{name: "more", queue: team, pods: 1})
			f.expectHeld(ctx, volcanoJobs, "more", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 5, 4))
			f.finish(ctx, "twice")
			f.expectRunning(ctx, "more", 1)
		},
	},
	{
		name: "a Deployment whose replicas are divided over members counts once",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.propagateDivided(ctx, "divided", policyv1alpha1.ReplicaDivisionPreferenceWeighted)
			f.deployment(ctx, workload{name: "divided", queue: team, pods: 4, in: ownPolicy})
			f.expectRunningIn(ctx, east, "divided", 2)
			f.expectRunningIn(ctx, west, "divided", 2)
			f.deployment(ctx, workload{name: "more", queue: team, pods: 1})
			f.expectHeld(ctx, deployments, "more", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 5, 4))
		},
	},
	{
		name: "a Kubernetes Job that fails gives its capacity back",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("1")))
			w := workload{name: "fails", queue: team, pods: 1}
			job := &batchv1.Job{ObjectMeta: w.meta()}
			job.Spec = batchv1.JobSpec{BackoffLimit: ptr.To[int32](0), Template: w.template(corev1.RestartPolicyNever)}
			_, err := hub.kube.BatchV1().Jobs(f.namespace).Create(ctx, job, metav1.CreateOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.expectRunning(ctx, "fails", 1)
			f.volcanoJob(ctx, workload{name: "next", queue: team, pods: 1})
			f.expectHeld(ctx, volcanoJobs, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 2, 1))
			f.fail(ctx, "fails")
			f.expectRunning(ctx, "next", 1)
		},
	},
	{
		name: "a workload that is deleted gives its capacity back, and may come again under its name",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2})
			f.expectRunning(ctx, "web", 2)
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 2})
			f.expectHeld(ctx, volcanoJobs, "train", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 4, 2))
			f.remove(ctx, deployments, "web")
			f.expectRunning(ctx, "train", 2)
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2})
			f.expectHeld(ctx, deployments, "web", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 4, 2))
			f.finish(ctx, "train")
			f.expectRunning(ctx, "web", 2)
			f.expectReleased(ctx, "web", "train", "web")
		},
	},
	{
		name: "a Volcano Job that asks to be deleted after its end stays in its member, and runs once",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			ends := volcanoJobOf(workload{name: "ends", queue: team, pods: 2, in: east, runFor: briefly})
			ends.Spec.TTLSecondsAfterFinished = ptr.To[int32](0)
			_, err := hub.vc.BatchV1alpha1().Jobs(f.namespace).Create(ctx, ends, metav1.CreateOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.expectNotified(ctx, volcanoJobs, "ends", "Finished")
			sent, err := members[east].vc.BatchV1alpha1().Jobs(f.namespace).Get(ctx, "ends", metav1.GetOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.Expect(sent.Spec.TTLSecondsAfterFinished).To(BeNil())
			f.volcanoJob(ctx, workload{name: "next", queue: team, pods: 2})
			f.expectRunning(ctx, "next", 2)
			f.expectReleased(ctx, "ends", "next")
		},
	},
	{
		name: "short jobs follow each other, each released once",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			names := []string{"a", "b", "c", "d", "e"}
			for _, name := range names {
				f.volcanoJob(ctx, workload{name: name, queue: team, pods: 2, runFor: 100 * time.Millisecond})
			}
			f.Eventually(func() []string { return f.replay(ctx).order }).WithContext(ctx).Should(ConsistOf(names))
			f.expectQueueStatus(ctx, team, "0", 0)
			f.Expect(f.replay(ctx).order).To(ConsistOf(names), "released once, although completed jobs stay")
		},
	},
}

// propagateDivided divides the replicas of a Deployment among both members: evenly if weighted, or among as few as possible if
// aggregated. The Deployment must be in ownPolicy.
func (f *fixture) propagateDivided(ctx context.Context, deployment string, how policyv1alpha1.ReplicaDivisionPreference) {
	GinkgoHelper()
	f.propagateAs(ctx, "divided", func(spec *policyv1alpha1.PropagationSpec) {
		spec.Placement.SpreadConstraints = nil
		spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{east, west}}
		spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: how,
		}
		if how == policyv1alpha1.ReplicaDivisionPreferenceWeighted {
			spec.Placement.ReplicaScheduling.WeightPreference = &policyv1alpha1.ClusterPreferences{StaticWeightList: []policyv1alpha1.StaticClusterWeight{
				{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{east}}, Weight: 1},
				{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{west}}, Weight: 1},
			}}
		}
	}, named(deployments, deployment))
}

// expectMetrics waits until the dispatcher serves these series.
func (f *fixture) expectMetrics(ctx context.Context, series ...string) {
	GinkgoHelper()
	f.Eventually(func(g Gomega) {
		metrics, err := metricsOf(ctx, dispatchers["main"])
		g.Expect(err).NotTo(HaveOccurred())
		for _, line := range series {
			g.Expect(metrics).To(ContainSubstring(line + "\n"))
		}
	}).WithContext(ctx).Should(Succeed())
}

// expectQueueStatus waits until the status of a queue has this allocated cpu and this number of waiting workloads.
func (f *fixture) expectQueueStatus(ctx context.Context, queue, cpu string, pending int32) {
	GinkgoHelper()
	f.Eventually(func(g Gomega) {
		q, err := hub.queues.SchedulingV1beta1().Queues().Get(ctx, queue, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		allocated := q.Status.Allocated[corev1.ResourceCPU]
		g.Expect(allocated.String()).To(Equal(cpu), "allocated cpu of queue %s", queue)
		g.Expect(q.Status.Pending).To(Equal(pending), "pending workloads of queue %s", queue)
	}).WithContext(ctx).Should(Succeed())
}
