// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"slices"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// unschedulableScenarios are about workloads that Karmada cannot place. The number of unsuccessful grants before Karmada's answer, or
// before the next workload, depends on the speed of the machine.
var unschedulableScenarios = []scenario{
	{
		name: "a job that no cluster fits gives its capacity back, says so, comes again, and runs when a cluster fits",
		run: func(ctx context.Context, f *fixture) {
			f.propagateNowhere(ctx, "nowhere")
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.volcanoJob(ctx, workload{name: "nowhere", queue: team, pods: 2, in: ownPolicy})
			f.expectReleasedInTurn(ctx, "nowhere")
			f.nextSecond(ctx, volcanoJobs, "nowhere")
			f.volcanoJob(ctx, workload{name: "patient", queue: team, pods: 2})
			f.expectNotified(ctx, volcanoJobs, "nowhere", "TakenBack", team)
			f.expectRunning(ctx, "patient", 2)
			f.finish(ctx, "patient")
			By("trying the job that no cluster fits again")
			f.expectReleasedInTurn(ctx, "nowhere", "patient", "nowhere")
			f.labelCluster(ctx, west, f.name("zone"), `"here"`)
			f.expectRunningIn(ctx, west, "nowhere", 2)
		},
	},
	{
		name: "a Deployment for which no cluster has enough room gives its capacity back, with Karmada's reason",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2000")))
			f.propagateDivided(ctx, "huge", policyv1alpha1.ReplicaDivisionPreferenceAggregated)
			f.deployment(ctx, workload{name: "huge", queue: team, pods: 1, requests: cores("2000"), in: ownPolicy})
			f.expectNotified(ctx, deployments, "huge", "TakenBack", team, "not enough")
			f.nextSecond(ctx, deployments, "huge")
			f.volcanoJob(ctx, workload{name: "modest", queue: team, pods: 2})
			f.expectRunning(ctx, "modest", 2)
			f.expectHeld(ctx, deployments, "huge", "InsufficientCPUQuota", insufficient(team, "cpu", 2000, 2002, 2000))
		},
	},
	{
		name: "a Deployment of whose name the member has another one gives its capacity back, and runs when that is gone",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			theirs := f.kubeIn(ctx, east).AppsV1().Deployments(f.namespace)
			_, err := theirs.Create(ctx, deploymentOf(workload{name: "web", pods: 0}), metav1.CreateOptions{})
			f.Expect(err).NotTo(HaveOccurred())
			f.deployment(ctx, workload{name: "web", queue: team, pods: 2, in: east})
			f.expectNotified(ctx, deployments, "web", "TakenBack", team, east)
			f.nextSecond(ctx, deployments, "web")
			f.volcanoJob(ctx, workload{name: "patient", queue: team, pods: 2})
			f.expectRunning(ctx, "patient", 2)
			f.Expect(theirs.Delete(ctx, "web", metav1.DeleteOptions{})).To(Succeed())
			f.finish(ctx, "patient")
			f.expectRunningIn(ctx, east, "web", 2)
		},
	},
	{
		name: "a job that runs for longer than the timeout keeps what it was granted",
		run: func(ctx context.Context, f *fixture) {
			team := f.queue(ctx, "team", "root", capable(cores("2")))
			f.volcanoJob(ctx, workload{name: "long", queue: team, pods: 1})
			f.expectRunning(ctx, "long", 1)
			f.propagateNowhere(ctx, "nowhere")
			f.volcanoJob(ctx, workload{name: "nowhere", queue: f.queue(ctx, "other", "root"), pods: 1, in: ownPolicy})
			f.expectNotified(ctx, volcanoJobs, "nowhere", "TakenBack") // the timeout has passed for both
			f.volcanoJob(ctx, workload{name: "next", queue: team, pods: 2})
			f.expectHeld(ctx, volcanoJobs, "next", "InsufficientCPUQuota", insufficient(team, "cpu", 2, 3, 2))
		},
	},
}

// expectReleasedInTurn waits until exactly these workloads have been released, in this order. Each may be released several times.
func (f *fixture) expectReleasedInTurn(ctx context.Context, workloads ...string) {
	GinkgoHelper()
	f.Eventually(func() []string { return slices.Compact(f.replay(ctx).order) }).WithContext(ctx).Should(
		Equal(workloads), "workloads in the order in which they were released")
}

// propagateNowhere restricts a Volcano Job, which must be in ownPolicy, to clusters with a label that none has.
func (f *fixture) propagateNowhere(ctx context.Context, job string) {
	GinkgoHelper()
	f.propagateAs(ctx, "nowhere", func(spec *policyv1alpha1.PropagationSpec) {
		spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{f.name("zone"): "here"}},
		}
	}, named(volcanoJobs, job))
}

// labelCluster sets a label of a member's Cluster to a JSON value until the spec ends.
func (f *fixture) labelCluster(ctx context.Context, member, label, value string) {
	GinkgoHelper()
	_, err := karmada.ClusterV1alpha1().Clusters().Patch(ctx, member, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, label, value), metav1.PatchOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}
