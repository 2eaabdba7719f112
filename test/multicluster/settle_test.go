// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	dispatcher "github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// settleScenarios are about workloads that members still run although they must run less.
var settleScenarios = []scenario{
	{
		name: "a deleted workload stays charged until its pods have ended",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.deployment(ctx, workload{name: "lasts", queue: team, pods: 2, change: func(pods *corev1.PodTemplateSpec) {
				endsSlowly(pods)
				pods.Spec.TerminationGracePeriodSeconds = ptr.To[int64](60) // a busy member does not answer at once
			}})
			f.expectRunning(ctx, "lasts", 2)
			f.deployment(ctx, workload{name: "next", queue: team, pods: 2})
			f.remove(ctx, deployments, "lasts")
			f.expectNotified(ctx, deployments, "lasts", "StillCharged", "has 2 of its pods, and is to have 0")
			f.expectRunning(ctx, "next", 2)
			f.Expect(f.allPods(ctx, "lasts")).To(BeEmpty())
		},
	},
	{
		name: "a Deployment that shrinks stays charged until the pods that it loses have ended",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 4, change: endsSlowly})
			f.expectRunning(ctx, "web", 4)
			f.scale(ctx, "web", 1)
			f.deployment(ctx, workload{name: "next", queue: team, pods: 3})
			f.expectNotified(ctx, deployments, "web", "StillCharged", "has 4 of its pods, and is to have 1")
			f.expectRunning(ctx, "next", 3)
			f.Expect(f.allPods(ctx, "web")).To(HaveLen(1))
		},
	},
	{
		name: "Deployments that are scaled down, and up again before Karmada has noticed, wait for pods that may end",
		run: func(ctx context.Context, f *fixture) {
			const n = 8
			team := f.queue(ctx, "team", "root", capable(cores(fmt.Sprint(2*n))))
			for i := range n {
				f.deployment(ctx, workload{name: fmt.Sprint("web", i), queue: team, pods: 2, change: endsSlowly})
			}
			for i := range n {
				name := fmt.Sprint("web", i)
				f.expectRunning(ctx, name, 2)
				f.scale(ctx, name, 1)
				f.scale(ctx, name, 2)
				hold, err := dispatcher.ParseHold(f.binding(ctx, deployments, name).Annotations[dispatcher.HoldAnnotation])
				f.Expect(err).NotTo(HaveOccurred())
				f.Expect(hold).To(HaveValue(And(HaveField("Reason", dispatcher.Growing), HaveField("Ends", true))))
			}
			for i := range n {
				f.expectRunning(ctx, fmt.Sprint("web", i), 2)
			}
		},
	},
	{
		name: "a Deployment whose replicas a member retains is charged what it has there",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.deployment(ctx, workload{name: "retains", queue: team, pods: 4})
			f.expectRunning(ctx, "retains", 4)
			f.changeDeployment(ctx, "retains", func(d *appsv1.Deployment) {
				metav1.SetMetaDataLabel(&d.ObjectMeta, "resourcetemplate.karmada.io/retain-replicas", "true")
				d.Spec.Replicas = ptr.To[int32](1)
			})
			f.deployment(ctx, workload{name: "next", queue: team, pods: 3})
			f.expectHeld(ctx, deployments, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 3, 7, 4))
			f.changeDeployment(ctx, "retains", func(d *appsv1.Deployment) { delete(d.Labels, "resourcetemplate.karmada.io/retain-replicas") })
			f.expectRunning(ctx, "next", 3)
		},
	},
	{
		name: "a paused Deployment is charged what its pods were made with",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.deployment(ctx, workload{name: "paused", queue: team, pods: 2})
			f.expectRunning(ctx, "paused", 2)
			f.changeDeployment(ctx, "paused", func(d *appsv1.Deployment) {
				d.Spec.Paused = true
				little := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}
				d.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: little, Limits: little}
			})
			f.deployment(ctx, workload{name: "next", queue: team, pods: 1})
			f.expectHeld(ctx, deployments, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 3, 2))
			f.changeDeployment(ctx, "paused", func(d *appsv1.Deployment) { d.Spec.Paused = false })
			f.expectRunning(ctx, "next", 1)
		},
	},
	{
		name: "a StatefulSet whose pods stay until somebody deletes them is charged what they were made with until it has another strategy",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			set := statefulSetOf(workload{name: "set", queue: team, pods: 2})
			set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
			_, err := hub.kube.AppsV1().StatefulSets(f.namespace).Create(ctx, set, metav1.CreateOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.expectRunning(ctx, "set", 2)
			patch := `{"spec":{"template":{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"1m"},"limits":{"cpu":"1m"}}}]}}}}`
			_, err = hub.kube.AppsV1().StatefulSets(f.namespace).Patch(ctx, "set", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.deployment(ctx, workload{name: "next", queue: team, pods: 1})
			f.expectNotified(ctx, statefulSets, "set", "StillCharged", "has not reported that its pods are as few, and as small")
			f.expectHeld(ctx, deployments, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 3, 2))
			for _, member := range members {
				f.Expect(member.kube.CoreV1().Pods(f.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: workloadLabel + "=set"})).To(Succeed())
			}

			By("charging it until it has another strategy: with a partition, Kubernetes would make pods of the former template again")
			f.expectRunning(ctx, "set", 2)
			f.expectHeld(ctx, deployments, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 3, 2))
			_, err = hub.kube.AppsV1().StatefulSets(f.namespace).Patch(ctx, "set", types.MergePatchType, []byte(`{"spec":{"updateStrategy":{"type":"RollingUpdate"}}}`), metav1.PatchOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.expectRunning(ctx, "next", 1)
		},
	},
	{
		name: "a Volcano Job keeps its tasks, whose pods its member would keep beside those of others",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 2})
			f.expectRunning(ctx, "train", 2)
			patch := `[{"op":"replace","path":"/spec/tasks/0/name","value":"other"}]`
			_, err := hub.vc.BatchV1alpha1().Jobs(f.namespace).Patch(ctx, "train", types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
			f.Expect(err).To(MatchError(ContainSubstring("Job " + f.namespace + "/train would keep the pods of task main beside those of other tasks")))
		},
	},
	{
		name: "a Volcano Job is charged what its pods were made with, whatever its template says later",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 2})
			f.expectRunning(ctx, "train", 2)
			patch := `[{"op":"replace","path":"/spec/tasks/0/template/spec/containers/0/resources","value":{"requests":{"cpu":"1m"},"limits":{"cpu":"1m"}}}]`
			_, err := hub.vc.BatchV1alpha1().Jobs(f.namespace).Patch(ctx, "train", types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.deployment(ctx, workload{name: "next", queue: team, pods: 1})
			f.expectNotified(ctx, volcanoJobs, "train", "StillCharged", "its pods stay as they were made")
			f.expectHeld(ctx, deployments, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 3, 2))
			f.remove(ctx, volcanoJobs, "train")
			f.expectRunning(ctx, "next", 1)
		},
	},
}

// endsSlowly makes pods take their grace period to end.
func endsSlowly(pods *corev1.PodTemplateSpec) {
	metav1.SetMetaDataAnnotation(&pods.ObjectMeta, "devicequota.io/ignore-sigterm", "true")
	pods.Spec.TerminationGracePeriodSeconds = ptr.To[int64](20)
}
