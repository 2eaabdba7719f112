// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"slices"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// overlapScenarios are about new pods that would run beside old ones that end slowly.
var overlapScenarios = []scenario{
	{
		name: "a Deployment that shrinks and grows again waits for the pods that it has lost",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("3")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 3, change: endsSlowly})
			for range 2 {
				f.expectRunning(ctx, "web", 3)
				f.scale(ctx, "web", 1)
				f.expectRunning(ctx, "web", 1)
				f.scale(ctx, "web", 3)
				f.expectNotified(ctx, deployments, "web", "GrowthHeld", "has 2 of its pods that end")
			}
			f.expectRunning(ctx, "web", 3)
		},
	},
	{
		name: "a Deployment whose pods change again and again has at most twice as many",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2, change: endsSlowly})
			f.expectRunning(ctx, "web", 2)
			for i := range 3 {
				f.changeDeployment(ctx, "web", func(d *appsv1.Deployment) {
					none, all := intstr.FromInt32(0), intstr.FromString("100%")
					d.Spec.Strategy = appsv1.DeploymentStrategy{
						Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &none, MaxUnavailable: &all},
					}
					metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, "example.com/edition", fmt.Sprint(i))
				})
				f.Eventually(func() int { return f.ofEdition(ctx, "web", fmt.Sprint(i)) }).WithContext(ctx).Should(Equal(2))
			}
		},
	},
	{
		name: "a Job that is suspended and resumed waits for the pods that it had",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.batchJob(ctx, workload{name: "train", queue: team, pods: 2, change: endsSlowly})
			f.expectRunning(ctx, "train", 2)
			suspend := func(suspend bool) {
				patch := fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, suspend)
				_, err := hub.kube.BatchV1().Jobs(f.namespace).Patch(ctx, "train", types.MergePatchType, patch, metav1.PatchOptions{})
				f.Expect(err).NotTo(HaveOccurred())
			}
			suspend(true)
			f.expectRunning(ctx, "train", 0)
			suspend(false)
			f.expectNotified(ctx, batchJobs, "train", "GrowthHeld", "has 2 of its pods that end")
			f.expectRunning(ctx, "train", 2)
		},
	},
	{
		name: "a Deployment that shrinks while its policy suspends dispatching stays charged until its member has been told",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.propagateAs(ctx, "own", onlyTo(east), named(deployments, "web"))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 4, in: ownPolicy})
			f.expectRunning(ctx, "web", 4)
			f.suspendDispatching(ctx, "own", true)
			f.Eventually(func() bool {
				s := f.existing(ctx, deployments, "web").Spec.Suspension
				return s != nil && ptr.Deref(s.Dispatching, false)
			}).WithContext(ctx).Should(BeTrue())
			f.scale(ctx, "web", 1)
			f.deployment(ctx, workload{name: "next", queue: team, pods: 3, in: east})
			f.expectHeld(ctx, deployments, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 3, 7, 4))
			f.expectNotified(ctx, deployments, "web", "StillCharged", "suspended")
			f.suspendDispatching(ctx, "own", false)
			f.expectRunningIn(ctx, east, "next", 3)
			f.Expect(f.allPods(ctx, "web")).To(HaveLen(1))
		},
	},
	{
		name: "a Deployment that moves is charged for the pods that it leaves, and does not move on before they have ended",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.propagateAs(ctx, "own", onlyTo(east), named(deployments, "web"))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2, in: ownPolicy, change: endsSlowly})
			f.expectRunningIn(ctx, east, "web", 2)
			f.move(ctx, "own", west)
			f.expectRunningIn(ctx, west, "web", 2)
			f.expectCharged(ctx, team, 4_000)
			f.deployment(ctx, workload{name: "next", queue: team, pods: 2, in: east})
			f.expectHeld(ctx, deployments, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 6, 4))
			f.move(ctx, "own", east)
			f.expectNotified(ctx, deployments, "web", "GrowthHeld", "Pods that it had before may still end")
			f.expectRunningIn(ctx, east, "web", 2)
			f.expectRunningIn(ctx, east, "next", 2)
		},
	},
	{
		name: "a Deployment that is scaled up while it moves does not take the room that it leaves",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("8")))
			f.propagateAs(ctx, "own", onlyTo(east), named(deployments, "web"))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 4, in: ownPolicy, change: endsSlowly})
			f.expectRunningIn(ctx, east, "web", 4)
			f.move(ctx, "own", west)
			f.expectNotified(ctx, deployments, "web", "GrantExceeded", "<8> of cpu") // it is stored
			f.expectRunningIn(ctx, west, "web", 4)
			f.changeQueue(ctx, team, capable(cores("4")))
			f.scale(ctx, "web", 8)
			f.expectNotified(ctx, deployments, "web", "GrowthHeld", insufficient(team, "cpu", 8, 8, 4))
			f.expectCharged(ctx, team, 4_000)
			f.expectRunningIn(ctx, west, "web", 4)
			f.changeQueue(ctx, team, capable(cores("8")))
			f.expectRunningIn(ctx, west, "web", 8)
		},
	},
	{
		name: "a StatefulSet whose pods get other names again and again has at most twice as many",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.statefulSet(ctx, workload{name: "set", queue: team, pods: 2, change: endsSlowly})
			f.expectRunning(ctx, "set", 2)
			for i := range 3 {
				patch := fmt.Appendf(nil, `{"spec":{"ordinals":{"start":%d}}}`, 100*(i+1))
				_, err := hub.kube.AppsV1().StatefulSets(f.namespace).Patch(ctx, "set", types.MergePatchType, patch, metav1.PatchOptions{})
				f.Expect(err).NotTo(HaveOccurred())
				f.Eventually(func() bool {
					return slices.ContainsFunc(f.allPods(ctx, "set"), func(pod corev1.Pod) bool { return pod.Name == fmt.Sprintf("set-%d", 100*(i+1)+1) })
				}).WithContext(ctx).Should(BeTrue())
			}
		},
	},
	{
		name: "a Deployment that is scaled to nothing and back waits for the pods that it has lost",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("3")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 3, change: endsSlowly})
			f.expectRunning(ctx, "web", 3)
			f.scale(ctx, "web", 0)
			f.expectRunning(ctx, "web", 0)
			f.scale(ctx, "web", 3)
			f.expectRunning(ctx, "web", 3)
		},
	},
	{
		name: "a Deployment whose replicas move between its clusters again and again has at most twice as many",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("8")))
			f.propagateDivided(ctx, "divided", policyv1alpha1.ReplicaDivisionPreferenceWeighted)
			f.deployment(ctx, workload{name: "divided", queue: team, pods: 4, in: ownPolicy, change: endsSlowly})
			f.expectRunning(ctx, "divided", 4)
			for i := range 3 {
				weights := []int{1 + 2*(i%2), 3 - 2*(i%2)}
				f.patchPolicy(ctx, "divided", fmt.Sprintf(`{"spec":{"placement":{"replicaScheduling":{"weightPreference":{"staticWeightList":[`+
					`{"targetCluster":{"clusterNames":["east"]},"weight":%d},{"targetCluster":{"clusterNames":["west"]},"weight":%d}]}}}}}`, weights[0], weights[1]))
				f.expectRunningIn(ctx, east, "divided", weights[0])
				f.expectRunningIn(ctx, west, "divided", weights[1])
			}
		},
	},
}

// ofEdition returns the number of running pods of a workload from an edition of its template.
func (f *fixture) ofEdition(ctx context.Context, workload, edition string) int {
	n := 0
	for _, pod := range f.allPods(ctx, workload) {
		if pod.Annotations["example.com/edition"] == edition && pod.Status.Phase == "Running" && pod.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

func (f *fixture) suspendDispatching(ctx context.Context, policy string, suspend bool) {
	f.patchPolicy(ctx, policy, fmt.Sprintf(`{"spec":{"suspension":{"dispatching":%t}}}`, suspend))
}

func (f *fixture) move(ctx context.Context, policy, member string) {
	f.patchPolicy(ctx, policy, fmt.Sprintf(`{"spec":{"placement":{"clusterAffinity":{"clusterNames":[%q]}}}}`, member))
}

func (f *fixture) patchPolicy(ctx context.Context, policy, patch string) {
	_, err := karmada.PolicyV1alpha1().PropagationPolicies(f.namespace).Patch(ctx, policy, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}
