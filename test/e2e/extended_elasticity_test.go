// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// extended makes pods request a quantity of the scene's extended resource.
func (s *scene) extended(quantity string) podOption { return requests(s.gpu(), quantity) }

// offered creates a node of devices that are offered as the scene's extended resource.
func (s *scene) offered(ctx context.Context, n int) {
	changeClass(ctx, s.class, offering(s.gpu()))
	s.h100s(ctx, "n", n)
}

// deservesExtended and atMostExtended set amounts of the scene's extended resource.
func (s *scene) deservesExtended(n int64) queueOption {
	return func(q *schedulingv1beta1.Queue) {
		q.Spec.Deserved = corev1.ResourceList{s.gpu(): *resource.NewQuantity(n, resource.DecimalSI)}
	}
}

func (s *scene) atMostExtended(n int64) queueOption {
	return func(q *schedulingv1beta1.Queue) {
		q.Spec.Capability = corev1.ResourceList{s.gpu(): *resource.NewQuantity(n, resource.DecimalSI)}
	}
}

// extendedHeldByTheirs creates a node of four devices. Pods of a queue that deserves two of them hold all, as an extended resource.
func extendedHeldByTheirs(deserves func(s *scene) queueOption, options ...podOption) func(context.Context, *scene) {
	return func(ctx context.Context, s *scene) {
		s.offered(ctx, 4)
		s.team(ctx, "ours", "root", deserves(s))
		s.singles(ctx, "theirs", s.team(ctx, "theirs", "root", deserves(s)), 4, append(options, s.extended("1"))...)
	}
}

func twoByClass(s *scene) queueOption { return s.deserves(2) }
func twoByName(s *scene) queueOption  { return s.deservesExtended(2) }

func extendedPod(quantity string) func(context.Context, *scene) {
	return func(ctx context.Context, s *scene) {
		s.singles(ctx, "ours", s.name("ours"), 1, s.extended(quantity))
	}
}

// extendedOfLowPriority fills a node, or a quota, with pods that request an extended resource.
func extendedOfLowPriority(devices int, queue func(s *scene) queueOption, options ...podOption) func(context.Context, *scene) {
	return func(ctx context.Context, s *scene) {
		s.offered(ctx, devices)
		low, _ := s.priorities(ctx)
		s.singles(ctx, "low", s.team(ctx, "team", "root", queue(s)), 4, append(options, s.extended("1"), ofPriority(low))...)
	}
}

func extendedOfHighPriority(quantity string) func(context.Context, *scene) {
	return func(ctx context.Context, s *scene) {
		s.singles(ctx, "high", s.name("team"), 1, s.extended(quantity), ofPriority(s.name("high")))
	}
}

// extendedScenarios are about pods that request an extended resource of a DeviceClass.
var extendedScenarios = []scenario{
	{
		name:  "a pod with an extended resource takes back a device that its queue deserves by class",
		given: extendedHeldByTheirs(twoByClass),
		when:  extendedPod("1"),
		want:  outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 3, "ours": 1}},
		then: func(ctx context.Context, s *scene) {
			s.expectNotified(ctx, "theirs", "Reclaimed", names(s.name("ours"), s.name("theirs"), "deserve"))
			expectAllocated(ctx, s.name("ours"), s.class+"/count", 1)
			expectAllocated(ctx, s.name("theirs"), s.class+"/count", 3)
			s.expectClaims(ctx, 4)
		},
	},
	{
		name:  "a pod with an extended resource takes back what its queue deserves by the name of the resource",
		given: extendedHeldByTheirs(twoByName),
		when:  extendedPod("2"),
		want:  outcome{evicted: tally{"theirs": 2}, running: tally{"theirs": 2, "ours": 1}},
		then: func(ctx context.Context, s *scene) {
			expectCharge(ctx, s.name("ours"), s.gpu(), 2)
			expectCharge(ctx, s.name("theirs"), s.gpu(), 2)
		},
	},
	{
		name: "a pod with an extended resource takes back a card that its queue deserves",
		given: func(ctx context.Context, s *scene) {
			changeClass(ctx, s.class, ofCard(h100))
			s.offered(ctx, 4)
			organization := s.team(ctx, "organization", "root")
			s.team(ctx, "ours", organization, cards(4, 2))
			s.singles(ctx, "theirs", s.team(ctx, "theirs", organization, cards(4, 2)), 4, s.extended("1"))
		},
		when: extendedPod("1"),
		want: outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 3, "ours": 1}},
		then: func(ctx context.Context, s *scene) { expectCards(ctx, s.name("theirs"), h100+"=3") },
	},
	{
		name:  "a gang with an extended resource takes back two devices, and is promised the node while the victims leave",
		given: extendedHeldByTheirs(twoByClass, slowly),
		when: func(ctx context.Context, s *scene) {
			s.job(ctx, "ours", s.name("ours"), 2, 2, s.extended("1"))
		},
		want: outcome{evicted: tally{"theirs": 2}, running: tally{"theirs": 2, "ours": 2}},
		then: func(_ context.Context, s *scene) { s.expectPromised("ours") },
	},
	{
		name:  "a pod with a claim takes back a device from a pod with an extended resource",
		given: extendedHeldByTheirs(twoByClass),
		when:  func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 1, claiming("one")) },
		want:  outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 3, "ours": 1}},
	},
	{
		name: "a pod with an extended resource takes back a device from a pod with a claim",
		given: func(ctx context.Context, s *scene) {
			changeClass(ctx, s.class, offering(s.gpu()))
			fourDevicesHeldByTheirs(belowRoot)(ctx, s)
		},
		when: extendedPod("1"),
		want: outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 3, "ours": 1}},
	},
	{
		name: "a pod takes back one of a resource that plugins and DRA serve",
		given: func(ctx context.Context, s *scene) {
			s.offered(ctx, 2)
			s.pluginNode(ctx, "old", 2)
			s.team(ctx, "ours", "root", s.deservesExtended(2))
			s.singles(ctx, "theirs", s.team(ctx, "theirs", "root", s.deservesExtended(2)), 4, s.extended("1"))
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 3, s.extended("1")) },
		want: outcome{evicted: tally{"theirs": 2}, running: tally{"theirs": 2, "ours": 2}},
		then: func(ctx context.Context, s *scene) {
			expectCharge(ctx, s.name("ours"), s.gpu(), 2)
			s.expectClaims(ctx, 2)
		},
	},
	{
		name:  "nobody is evicted for a pod that asks for more of an extended resource than its queue deserves",
		given: extendedHeldByTheirs(twoByClass),
		when:  extendedPod("3"),
		want:  outcome{evicted: tally{}, running: tally{"theirs": 4}},
	},
	{
		name: "nobody is evicted for a pod that asks for more of an extended resource than a node has",
		given: func(ctx context.Context, s *scene) {
			s.offered(ctx, 4)
			s.pluginNode(ctx, "old", 4)
			s.team(ctx, "ours", "root", s.deservesExtended(6))
			s.singles(ctx, "theirs", s.team(ctx, "theirs", "root", s.deservesExtended(2)), 8, s.extended("1"))
		},
		when: extendedPod("5"),
		want: outcome{evicted: tally{}, running: tally{"theirs": 8}},
	},
	{
		name: "nobody is evicted for a pod whose queue may have no device of the class",
		given: func(ctx context.Context, s *scene) {
			extendedHeldByTheirs(twoByName)(ctx, s)
			setQuota(ctx, s.name("ours"), limit(s.class, 0))
		},
		when: extendedPod("1"),
		want: outcome{evicted: tally{}, running: tally{"theirs": 4}},
	},
	{
		name:  "a pod of high priority with an extended resource takes a place when the devices are in use",
		given: extendedOfLowPriority(4, func(s *scene) queueOption { return s.atMost(8) }, slowly),
		when:  extendedOfHighPriority("2"),
		want:  outcome{evicted: tally{"low": 2}, running: tally{"low": 2, "high": 1}},
		then:  func(_ context.Context, s *scene) { s.expectPromised("high") },
	},
	{
		name:  "a pod of high priority with an extended resource takes a place when the quota of the resource is full",
		given: extendedOfLowPriority(6, func(s *scene) queueOption { return s.atMostExtended(4) }),
		when:  extendedOfHighPriority("1"),
		want:  outcome{evicted: tally{"low": 1}, running: tally{"low": 3, "high": 1}},
	},
	{
		name:  "nobody is evicted for a pod of high priority that the quota of an extended resource will never hold",
		given: extendedOfLowPriority(8, func(s *scene) queueOption { return s.atMostExtended(4) }),
		when:  extendedOfHighPriority("5"),
		want:  outcome{evicted: tally{}, running: tally{"low": 4}},
	},
}
