// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// growthScenarios are about workloads that change while they run.
var growthScenarios = []scenario{
	{
		name: "a Deployment that is scaled up stays as it is in its member until there is room, and gives back what it is scaled down by",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2})
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 2})
			f.expectRunning(ctx, "web", 2)
			f.expectRunning(ctx, "train", 2)
			f.scale(ctx, "web", 4)
			f.expectNotified(ctx, deployments, "web", "GrowthHeld", insufficient(team, "cpu", 2, 6, 4))
			f.Expect(f.allPods(ctx, "web")).To(HaveLen(2))
			f.finish(ctx, "train")
			f.expectRunning(ctx, "web", 4)

			f.volcanoJob(ctx, workload{name: "next", queue: team, pods: 3})
			f.expectHeld(ctx, volcanoJobs, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 3, 7, 4))
			f.scale(ctx, "web", 1)
			f.expectRunning(ctx, "next", 3)
			f.expectRunning(ctx, "web", 1)
		},
	},
	{
		name: "growth by the subresource scale, as kubectl and autoscalers do it, is held, too",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 1})
			f.expectRunning(ctx, "web", 1)
			_, err := hub.kube.AppsV1().Deployments(f.namespace).Patch(ctx, "web", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}, "scale")
			f.Expect(err).NotTo(HaveOccurred())
			f.expectNotified(ctx, deployments, "web", "GrowthHeld", team, "<3>", "<2>")
			f.Expect(f.allPods(ctx, "web")).To(HaveLen(1))
			f.changeQueue(ctx, team, capable(cores("3")))
			f.expectRunning(ctx, "web", 3)
		},
	},
	{
		name: "the growth of ten Deployments at once reaches no member before the grant",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("10")))
			for i := range 10 {
				f.deployment(ctx, workload{name: fmt.Sprint("web-", i), queue: team, pods: 1})
			}
			for i := range 10 {
				f.expectRunning(ctx, fmt.Sprint("web-", i), 1)
			}
			for i := range 10 {
				f.scale(ctx, fmt.Sprint("web-", i), 2)
			}
			for i := range 10 {
				f.Eventually(func() bool { return isHeld(f.binding(ctx, deployments, fmt.Sprint("web-", i))) }).WithContext(ctx).Should(BeTrue())
				f.Expect(f.allPods(ctx, fmt.Sprint("web-", i))).To(HaveLen(1))
			}
			f.changeQueue(ctx, team, capable(cores("20")))
			for i := range 10 {
				f.expectRunning(ctx, fmt.Sprint("web-", i), 2)
			}
		},
	},
	{
		name: "a Deployment grows at once where there is room",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 1})
			f.expectRunning(ctx, "web", 1)
			f.scale(ctx, "web", 4)
			f.expectRunning(ctx, "web", 4)
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 1})
			f.expectHeld(ctx, volcanoJobs, "train", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 5, 4))
		},
	},
	{
		name: "a Deployment that takes back its growth is as before",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("3")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2})
			f.expectRunning(ctx, "web", 2)
			f.scale(ctx, "web", 5)
			f.expectNotified(ctx, deployments, "web", "GrowthHeld", team, "<5>", "<3>")
			f.scale(ctx, "web", 2)
			f.Eventually(func() bool { return isHeld(f.binding(ctx, deployments, "web")) }).WithContext(ctx).Should(BeFalse())
			f.scale(ctx, "web", 3)
			f.expectRunning(ctx, "web", 3)
		},
	},
	{
		name: "a Deployment that is scaled to nothing gives back all, although Karmada has changed its status since",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2})
			f.expectRunning(ctx, "web", 2)
			f.scale(ctx, "web", 0)
			f.expectGone(ctx, "web")
			f.Eventually(func(g Gomega) { // this changes the Deployment, but not the version in the binding
				web, err := hub.kube.AppsV1().Deployments(f.namespace).Get(ctx, "web", metav1.GetOptions{})
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(web.Status.Replicas).To(BeZero())
			}).WithContext(ctx).Should(Succeed())
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 2})
			f.expectRunning(ctx, "train", 2)
		},
	},
	{
		name: "a Volcano Job that is given more pods stays as it is in its member until there is room",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 2})
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2})
			f.expectRunning(ctx, "train", 2)
			f.expectRunning(ctx, "web", 2)
			f.changeVolcanoJob(ctx, "train", func(job *batchv1alpha1.Job) { job.Spec.Tasks[0].Replicas = 3 })
			f.expectNotified(ctx, volcanoJobs, "train", "GrowthHeld", insufficient(team, "cpu", 1, 5, 4))
			f.Expect(f.replicasInMember(ctx, "train")).To(BeEquivalentTo(2))
			f.scale(ctx, "web", 1)
			f.expectRunning(ctx, "train", 3)
		},
	},
	{
		name: "pods that are made larger stay as they are in their member until there is room",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("3")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 1})
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 2})
			f.expectRunning(ctx, "web", 1)
			f.expectRunning(ctx, "train", 2)
			f.changeDeployment(ctx, "web", func(d *appsv1.Deployment) {
				resources := corev1.ResourceRequirements{Requests: cores("3"), Limits: cores("3")}
				d.Spec.Template.Spec.Containers[0].Resources = resources
			})
			f.expectNotified(ctx, deployments, "web", "GrowthHeld", insufficient(team, "cpu", 2, 5, 3))
			f.Expect(f.cpuOf(ctx, "web")).To(Equal("1"))
			f.finish(ctx, "train")
			f.Eventually(func() string { return f.cpuOf(ctx, "web") }).WithContext(ctx).Should(Equal("3"))
		},
	},
	{
		name: "growth of a Deployment whose replicas are divided reaches no member before the grant",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("6")))
			f.propagateDivided(ctx, "divided", policyv1alpha1.ReplicaDivisionPreferenceWeighted)
			f.deployment(ctx, workload{name: "divided", queue: team, pods: 2, in: ownPolicy})
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 4})
			f.expectRunning(ctx, "divided", 2)
			f.expectRunning(ctx, "train", 4)
			f.scale(ctx, "divided", 6)
			f.expectNotified(ctx, deployments, "divided", "GrowthHeld", insufficient(team, "cpu", 4, 10, 6))
			f.Expect(f.allPods(ctx, "divided")).To(HaveLen(2))
			f.finish(ctx, "train")
			f.expectRunningIn(ctx, east, "divided", 3)
			f.expectRunningIn(ctx, west, "divided", 3)
		},
	},
	{
		name: "a StatefulSet grows when there is room, too",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.statefulSet(ctx, workload{name: "set", queue: team, pods: 1})
			f.volcanoJob(ctx, workload{name: "filler", queue: team, pods: 3})
			f.expectRunning(ctx, "set", 1)
			f.expectRunning(ctx, "filler", 3)
			_, err := hub.kube.AppsV1().StatefulSets(f.namespace).Patch(ctx, "set", types.MergePatchType, []byte(`{"spec":{"replicas":2}}`), metav1.PatchOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.expectNotified(ctx, statefulSets, "set", "GrowthHeld", insufficient(team, "cpu", 1, 5, 4))
			f.Expect(f.allPods(ctx, "set")).To(HaveLen(1))
			f.finish(ctx, "filler")
			f.expectRunning(ctx, "set", 2)
		},
	},
	{
		name: "what changes in a workload that is held counts when it is released",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("3")))
			f.volcanoJob(ctx, workload{name: "filler", queue: team, pods: 2})
			f.expectRunning(ctx, "filler", 2)
			f.deployment(ctx, workload{name: "web", queue: team, pods: 3})
			f.expectHeld(ctx, deployments, "web", "InsufficientCPUQuota", insufficient(team, "cpu", 3, 5, 3))
			f.scale(ctx, "web", 1)
			f.expectRunning(ctx, "web", 1)
		},
	},
}

func (f *fixture) changeDeployment(ctx context.Context, name string, change func(*appsv1.Deployment)) {
	GinkgoHelper()
	f.Eventually(func() error {
		d, err := hub.kube.AppsV1().Deployments(f.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(d)
		_, err = hub.kube.AppsV1().Deployments(f.namespace).Update(ctx, d, metav1.UpdateOptions{})
		return err
	}).WithContext(ctx).Should(Succeed())
}

func (f *fixture) changeVolcanoJob(ctx context.Context, name string, change func(*batchv1alpha1.Job)) {
	GinkgoHelper()
	f.Eventually(func() error {
		job, err := hub.vc.BatchV1alpha1().Jobs(f.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(job)
		_, err = hub.vc.BatchV1alpha1().Jobs(f.namespace).Update(ctx, job, metav1.UpdateOptions{})
		return err
	}).WithContext(ctx).Should(Succeed())
}

// replicasInMember returns the replicas of a Volcano Job in its member.
func (f *fixture) replicasInMember(ctx context.Context, name string) int32 {
	GinkgoHelper()
	var replicas int32
	for _, member := range members {
		jobs, err := member.vc.BatchV1alpha1().Jobs(f.namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		f.Expect(err).NotTo(HaveOccurred())
		for i := range jobs.Items {
			replicas += jobs.Items[i].Spec.Tasks[0].Replicas
		}
	}
	return replicas
}

// cpuOf returns the cpu request of the only pod of a workload, empty if it has no pod or several.
func (f *fixture) cpuOf(ctx context.Context, name string) string {
	GinkgoHelper()
	pods := f.allPods(ctx, name)
	if len(pods) != 1 {
		return ""
	}
	return pods[0].Spec.Containers[0].Resources.Requests.Cpu().String()
}
