// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/gomega"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

var notPreemptable = annotated(upstreamv1beta1.PodPreemptable, "false")

func notReclaimable(q *schedulingv1beta1.Queue) { q.Spec.Reclaimable = ptr.To(false) }

// budget creates a PodDisruptionBudget with a minimum of n pods of a group, and waits until it is in force.
func (s *scene) budget(ctx context.Context, group string, n int) {
	create := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: group}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: ptr.To(intstr.FromInt(n)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{groupLabel: group}},
	}}
	must(kube.PolicyV1().PodDisruptionBudgets(s.namespace).Create(ctx, &create, metav1.CreateOptions{}))
}

// budgetCounts waits until a budget counts n healthy pods.
func (s *scene) budgetCounts(ctx context.Context, group string, n int) {
	Eventually(func() int32 {
		b := must(kube.PolicyV1().PodDisruptionBudgets(s.namespace).Get(ctx, group, metav1.GetOptions{}))
		return b.Status.CurrentHealthy
	}).WithContext(ctx).Should(BeEquivalentTo(n), "healthy pods of budget %s", group)
}

// rightsScenarios are about pods that must not be evicted, or that no eviction helps.
var rightsScenarios = []scenario{
	{
		name: "pods that a disruption budget, an annotation, or their queue protects are left alone",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 6)
			_, theirs := s.oursAndTheirs(ctx, "root", 4, 1)
			closed := s.team(ctx, "closed", "root", notReclaimable)
			s.budget(ctx, "budget", 2)
			s.singles(ctx, "ordinary", theirs, 1, claiming("one"))
			s.singles(ctx, "budget", theirs, 2, claiming("one"))
			s.singles(ctx, "annotated", theirs, 1, claiming("one"), notPreemptable)
			s.singles(ctx, "closed", closed, 2, claiming("one"))
		},
		when: func(ctx context.Context, s *scene) {
			s.budgetCounts(ctx, "budget", 2)
			s.singles(ctx, "ours", s.name("ours"), 2, claiming("one"))
		},
		want: outcome{evicted: tally{"ordinary": 1}, running: tally{"ours": 1, "budget": 2, "annotated": 1, "closed": 2}},
		then: func(ctx context.Context, s *scene) { s.expectExplained(ctx, "ours", 1, names(s.class)) },
	},
	{
		name: "a disruption budget that allows one disruption allows no second one",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 4)
			_, theirs := s.oursAndTheirs(ctx, "root", 3, 1)
			s.budget(ctx, "theirs", 3)
			s.singles(ctx, "theirs", theirs, 4, claiming("one"), slowly)
		},
		when: func(ctx context.Context, s *scene) {
			s.budgetCounts(ctx, "theirs", 4)
			s.singles(ctx, "ours", s.name("ours"), 2, claiming("one"))
		},
		want: outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 3, "ours": 1}},
	},
	{
		name: "pods of low priority that a disruption budget or an annotation protects are left alone",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 3)
			low, _ := s.priorities(ctx)
			team := s.team(ctx, "team", "root", notReclaimable) // reclaimable concerns only other queues
			s.budget(ctx, "budget", 1)
			s.singles(ctx, "ordinary", team, 1, claiming("one"), ofPriority(low))
			s.singles(ctx, "budget", team, 1, claiming("one"), ofPriority(low))
			s.singles(ctx, "annotated", team, 1, claiming("one"), ofPriority(low), notPreemptable)
		},
		when: func(ctx context.Context, s *scene) {
			s.budgetCounts(ctx, "budget", 1)
			s.singles(ctx, "high", s.name("team"), 2, claiming("one"), ofPriority(s.name("high")))
		},
		want: outcome{evicted: tally{"ordinary": 1}, running: tally{"high": 1, "budget": 1, "annotated": 1}},
	},
	{
		name: "pods on a node without devices are not evicted for a device",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 2)
			s.h100s(ctx, "plain", 0)
			_, theirs := s.oursAndTheirs(ctx, "root", 1, 1)
			s.singles(ctx, "theirs", theirs, 2, claiming("one"))
			s.singles(ctx, "idle", theirs, 4, s.onNode("plain"))
		},
		when: onePodAsks,
		want: outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 1, "idle": 4, "ours": 1}},
	},
	{
		name: "pods without devices beside those with devices are not evicted for a device",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 2)
			_, theirs := s.oursAndTheirs(ctx, "root", 1, 1)
			s.singles(ctx, "theirs", theirs, 2, claiming("one"))
			s.singles(ctx, "idle", theirs, 4, s.onNode("n"))
		},
		when: onePodAsks,
		want: outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 1, "idle": 4, "ours": 1}},
	},
	{
		name: "nobody is evicted for more devices than any node has",
		given: func(ctx context.Context, s *scene) {
			s.template(ctx, "three", exactly(s.class, 3))
			s.h100s(ctx, "n0", 2)
			s.h100s(ctx, "n1", 2)
			ours, theirs := s.oursAndTheirs(ctx, "root", 4, 0)
			low, _ := s.priorities(ctx)
			s.singles(ctx, "low", ours, 1, claiming("one"), ofPriority(low))
			s.singles(ctx, "theirs", theirs, 3, claiming("one"))
		},
		when: func(ctx context.Context, s *scene) {
			s.singles(ctx, "high", s.name("ours"), 1, claiming("three"), ofPriority(s.name("high")))
		},
		want: outcome{evicted: tally{}, running: tally{"low": 1, "theirs": 3}},
		then: func(ctx context.Context, s *scene) {
			s.expectExplained(ctx, "high", 1, names("No node has as much <"+s.class+"> as a pod requests, which is <3>: the largest has <2>"))
		},
	},
	{
		name: "nobody is evicted for devices that no node has",
		given: func(ctx context.Context, s *scene) {
			s.template(ctx, "absent", named("absent", exactly(s.model(ctx, "absent"), 1)), named("present", exactly(s.class, 1)))
			fourDevicesHeldByTheirs(belowRoot)(ctx, s)
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 1, claiming("absent")) },
		want: outcome{evicted: tally{}, running: tally{"theirs": 4}},
		then: func(ctx context.Context, s *scene) { s.expectExplained(ctx, "ours", 1, names(s.name("absent"))) },
	},
}
