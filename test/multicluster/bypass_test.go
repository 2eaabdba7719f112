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
	"k8s.io/utils/ptr"
)

// bypassScenarios are about users who try to bypass their quota or change the data of the dispatcher. The users have all
// rights on Karmada's API server.
var bypassScenarios = []scenario{
	{
		name: "a user who lifts the suspension, clears the hold, or chooses clusters gets no capacity",
		run: func(ctx context.Context, f *fixture) {
			team := f.fullQueue(ctx)
			f.volcanoJob(ctx, workload{name: "sly", queue: team, pods: 1})
			f.expectHeld(ctx, volcanoJobs, "sly", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 3, 2))
			for _, patch := range []string{
				`{"spec":{"suspension":{"scheduling":false}}}`,
				`{"spec":{"suspension":null}}`,
				`{"metadata":{"annotations":{"volcano.sh/hold":null}},"spec":{"suspension":null}}`,
				fmt.Sprintf(`{"metadata":{"annotations":{"volcano.sh/granted":%q}},"spec":{"suspension":null}}`, `{"queue":"`+team+`"}`),
				`{"spec":{"clusters":[{"name":"east"}]}}`,
				`{"spec":{"clusters":[{"name":"east"}],"suspension":null}}`,
				`{"spec":{"requiredBy":[{"namespace":"default","name":"other","clusters":[{"name":"east"}]}]}}`,
			} {
				f.tryPatch(ctx, "sly-job", patch)
				f.expectNowhere(ctx, volcanoJobs, "sly")
				f.Expect(f.existing(ctx, volcanoJobs, "sly").Spec.RequiredBy).To(BeEmpty(), "Karmada makes Works for these clusters, too")
			}
			f.finish(ctx, "filler")
			f.expectRunning(ctx, "sly", 1)
			f.expectReleased(ctx, "filler", "sly")
		},
	},
	{
		name: "a user who lowers or removes the grant of what runs gets no capacity",
		run: func(ctx context.Context, f *fixture) {
			team := f.fullQueue(ctx)
			f.volcanoJob(ctx, workload{name: "next", queue: team, pods: 1})
			f.expectHeld(ctx, volcanoJobs, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 3, 2))
			granted := f.existing(ctx, volcanoJobs, "filler").Annotations["volcano.sh/granted"]
			f.Expect(granted).NotTo(BeEmpty())
			for _, patch := range []string{
				`{"metadata":{"annotations":{"volcano.sh/granted":null}}}`,
				`{"metadata":{"annotations":{"volcano.sh/granted":"{}"}}}`,
				`{"metadata":{"annotations":{"volcano.sh/granted":"nonsense"}}}`,
				`{"metadata":{"finalizers":null}}`,
			} {
				f.tryPatch(ctx, "filler-job", patch)
				filler := f.existing(ctx, volcanoJobs, "filler")
				f.Expect(filler.Annotations).To(HaveKeyWithValue("volcano.sh/granted", granted), "after %s", patch)
				f.Expect(filler.Finalizers).To(ContainElement("volcano.sh/charged"), "after %s", patch)
			}
			f.expectNowhere(ctx, volcanoJobs, "next")
		},
	},
	{
		name: "a user who grows what waits for growth gets no capacity by lifting the suspension of dispatching",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 1})
			f.expectRunning(ctx, "web", 1)
			f.volcanoJob(ctx, workload{name: "train", queue: team, pods: 1})
			f.expectRunning(ctx, "train", 1)
			f.scale(ctx, "web", 3)
			f.expectNotified(ctx, deployments, "web", "GrowthHeld", team)
			for _, patch := range []string{
				`{"spec":{"suspension":null}}`, `{"spec":{"suspension":{"dispatching":false}}}`,
				`{"spec":{"clusters":[{"name":"east","replicas":3}]}}`,
			} {
				f.tryPatch(ctx, "web-deployment", patch)
				f.Expect(isHeld(f.existing(ctx, deployments, "web"))).To(BeTrue(), "after %s", patch)
			}
			f.Expect(f.allPods(ctx, "web")).To(HaveLen(1))
		},
	},
	{
		name: "a user who widens the policy of what runs gets the other clusters when the queue has room for them",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("3")))
			f.propagateAs(ctx, "narrow", func(spec *policyv1alpha1.PropagationSpec) {
				spec.Placement = policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{east}}}
			}, named(deployments, "web"))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2, in: ownPolicy})
			f.expectRunningIn(ctx, east, "web", 2)
			_, err := karmada.PolicyV1alpha1().PropagationPolicies(f.namespace).Patch(ctx, "narrow", types.MergePatchType,
				[]byte(fmt.Sprintf(`{"spec":{"placement":{"clusterAffinity":{"clusterNames":[%q,%q]}}}}`, east, west)), metav1.PatchOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.expectWestWithRoom(ctx, team)
		},
	},
	{
		name: "a workload that Karmada would also send to a cluster that has a new label gets it when the queue has room",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("3")))
			admit := func(member string) {
				_, err := karmada.ClusterV1alpha1().Clusters().Patch(ctx, member, types.MergePatchType,
					[]byte(fmt.Sprintf(`{"metadata":{"labels":{%q:"yes"}}}`, f.namespace)), metav1.PatchOptions{})
				f.Expect(err).NotTo(HaveOccurred())
			}
			admit(east)
			f.propagateAs(ctx, "labelled", func(spec *policyv1alpha1.PropagationSpec) {
				selector := &metav1.LabelSelector{MatchLabels: map[string]string{f.namespace: "yes"}}
				spec.Placement = policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{LabelSelector: selector}}
			}, named(deployments, "web"))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2, in: ownPolicy})
			f.expectRunningIn(ctx, east, "web", 2)
			admit(west)
			f.expectWestWithRoom(ctx, team)
		},
	},
	{
		name: "a workload that fails in each cluster is kept in two at most, whatever its policy says",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("4")))
			f.propagateAs(ctx, "fails-over", func(spec *policyv1alpha1.PropagationSpec) {
				spec.Failover = &policyv1alpha1.FailoverBehavior{Application: &policyv1alpha1.ApplicationFailoverBehavior{
					DecisionConditions: policyv1alpha1.DecisionConditions{TolerationSeconds: ptr.To[int32](1)}, PurgeMode: policyv1alpha1.Never,
				}}
			}, named(deployments, "web"))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2, in: ownPolicy, change: func(pods *corev1.PodTemplateSpec) {
				pods.Spec.NodeSelector = map[string]string{"example.com/no-node-has-this": "yes"}
			}})
			f.expectNotified(ctx, deployments, "web", "GrowthHeld", "it is evicted from clusters", east, west)
			f.Expect(f.allPods(ctx, "web")).To(HaveLen(4))
			f.Expect(f.existing(ctx, deployments, "web").Spec.Clusters).To(BeEmpty())
		},
	},
	{
		name: "a workload that moves to another queue after its release is charged where it was",
		run: func(ctx context.Context, f *fixture) {
			team, other := f.queue(ctx, "team", "root", capable(cores("2"))), f.queue(ctx, "other", "root", capable(cores("1")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2})
			f.expectRunning(ctx, "web", 2)
			f.changeDeployment(ctx, "web", func(d *appsv1.Deployment) {
				metav1.SetMetaDataAnnotation(&d.ObjectMeta, "scheduling.volcano.sh/queue-name", other)
				metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, "scheduling.volcano.sh/queue-name", other)
			})
			f.volcanoJob(ctx, workload{name: "here", queue: team, pods: 1})
			f.expectHeld(ctx, volcanoJobs, "here", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 3, 2))
			f.volcanoJob(ctx, workload{name: "there", queue: other, pods: 1})
			f.expectRunning(ctx, "there", 1)
		},
	},
	{
		name: "a workload that moves to another queue while it waits is released by that",
		run: func(ctx context.Context, f *fixture) {
			team := f.fullQueue(ctx)
			other := f.queue(ctx, "other", "root", capable(cores("2")))
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2})
			f.expectHeld(ctx, deployments, "web", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 4, 2))
			f.changeDeployment(ctx, "web", func(d *appsv1.Deployment) {
				metav1.SetMetaDataAnnotation(&d.ObjectMeta, "scheduling.volcano.sh/queue-name", other)
				metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, "scheduling.volcano.sh/queue-name", other)
			})
			f.expectRunning(ctx, "web", 2)
		},
	},
	{
		name: "a workload whose policy is deleted while it waits holds no capacity, and goes on when a policy matches again",
		run: func(ctx context.Context, f *fixture) {
			team := f.fullQueue(ctx)
			f.propagateAs(ctx, "fleeting", onlyTo(west), named(volcanoJobs, "lost"))
			f.volcanoJob(ctx, workload{name: "lost", queue: team, pods: 2, in: ownPolicy})
			f.expectHeld(ctx, volcanoJobs, "lost", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 4, 2))
			f.Expect(karmada.PolicyV1alpha1().PropagationPolicies(f.namespace).Delete(ctx, "fleeting", metav1.DeleteOptions{})).To(Succeed())
			f.expectNotified(ctx, volcanoJobs, "lost", "NoPolicy")
			f.nextSecond(ctx, volcanoJobs, "lost")
			f.volcanoJob(ctx, workload{name: "next", queue: team, pods: 2, in: east})
			f.existing(ctx, volcanoJobs, "next")
			f.finish(ctx, "filler")
			f.expectRunningIn(ctx, east, "next", 2)
			f.propagateAs(ctx, "again", onlyTo(west), named(volcanoJobs, "lost"))
			f.finish(ctx, "next")
			f.expectRunningIn(ctx, west, "lost", 2)
		},
	},
}

// expectWestWithRoom expects that web, which runs two pods in east and is to run two in west, waits for them until a queue of three cores has four.
func (f *fixture) expectWestWithRoom(ctx context.Context, team string) {
	GinkgoHelper()
	f.expectNotified(ctx, deployments, "web", "GrowthHeld", team, "<4>", "<3>")
	f.Expect(f.allPods(ctx, "web")).To(HaveLen(2))
	f.changeQueue(ctx, team, capable(cores("4")))
	f.expectRunningIn(ctx, west, "web", 2)
	f.expectRunningIn(ctx, east, "web", 2)
}

// fullQueue creates a queue of two cores and fills it with the job filler.
func (f *fixture) fullQueue(ctx context.Context) string {
	GinkgoHelper()
	team := f.queue(ctx, "team", "root", capable(cores("2")))
	f.volcanoJob(ctx, workload{name: "filler", queue: team, pods: 2, in: east})
	f.expectRunning(ctx, "filler", 2)
	return team
}

// tryPatch applies a merge patch to a binding. The API server may refuse it or revert its changes.
func (f *fixture) tryPatch(ctx context.Context, name, patch string) {
	_, err := karmada.WorkV1alpha2().ResourceBindings(f.namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		GinkgoWriter.Printf("%s: %v\n", patch, err)
	}
}
