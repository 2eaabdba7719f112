// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/gomega"
)

// fourDevicesHeldByTheirs creates a node of four devices. Single pods of a queue that deserves two of them hold all. The queue
// that will ask deserves two, too.
func fourDevicesHeldByTheirs(parent func(context.Context, *scene) string, options ...podOption) func(context.Context, *scene) {
	return func(ctx context.Context, s *scene) {
		s.h100s(ctx, "n", 4)
		_, theirs := s.oursAndTheirs(ctx, parent(ctx, s), 2, 2)
		s.singles(ctx, "theirs", theirs, 4, append(options, claiming("one"))...)
	}
}

func belowRoot(context.Context, *scene) string { return "root" }

func belowOrganization(ctx context.Context, s *scene) string {
	return s.team(ctx, "organization", "root", s.deserves(4), s.atMost(4))
}

// reclaimScenarios are about queues that reclaim what they deserve.
var reclaimScenarios = []scenario{
	{
		name:  "a pod takes back one device, and its victim is told why",
		given: fourDevicesHeldByTheirs(belowRoot),
		when:  func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 1, claiming("one")) },
		want:  outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 3, "ours": 1}},
		then: func(ctx context.Context, s *scene) {
			s.expectNotified(ctx, "theirs", "Reclaimed", SatisfyAll(
				ContainSubstring("pod %s/ours-0 of queue <%s>", s.namespace, s.name("ours")), ContainSubstring(s.class),
				ContainSubstring("queue <%s> holds <0> and deserves <2>", s.name("ours")), ContainSubstring("queue <%s> holds <4> and deserves <2>", s.name("theirs"))))
			expectAllocated(ctx, s.name("theirs"), s.class+"/count", 3)
			expectAllocated(ctx, s.name("ours"), s.class+"/count", 1)
		},
	},
	{
		name:  "a gang of two takes back two devices, and its pods are promised the node while the victims leave",
		given: fourDevicesHeldByTheirs(belowRoot, slowly),
		when:  func(ctx context.Context, s *scene) { s.job(ctx, "ours", s.name("ours"), 2, 2, claiming("one")) },
		want:  outcome{evicted: tally{"theirs": 2}, running: tally{"theirs": 2, "ours": 2}},
		then:  func(_ context.Context, s *scene) { s.expectPromised("ours") },
	},
	{
		name:  "a pod with two devices takes them back from two pods",
		given: fourDevicesHeldByTheirs(belowRoot),
		when:  func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 1, claiming("two")) },
		want:  outcome{evicted: tally{"theirs": 2}, running: tally{"theirs": 2, "ours": 1}},
	},
	{
		name:  "a pod takes back a device below a parent queue whose quota is full",
		given: fourDevicesHeldByTheirs(belowOrganization, slowly),
		when:  func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 1, claiming("one")) },
		want:  outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 3, "ours": 1}},
		then:  func(_ context.Context, s *scene) { s.expectPromised("ours") },
	},
	{
		name:  "a gang of two takes back two devices below a parent queue whose quota is full",
		given: fourDevicesHeldByTheirs(belowOrganization),
		when:  func(ctx context.Context, s *scene) { s.gangPods(ctx, "ours", s.name("ours"), 2, claiming("one")) },
		want:  outcome{evicted: tally{"theirs": 2}, running: tally{"theirs": 2, "ours": 2}},
	},
	{
		name: "a free device is used before anybody is evicted",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 4)
			_, theirs := s.oursAndTheirs(ctx, "root", 2, 2)
			s.singles(ctx, "theirs", theirs, 3, claiming("one"))
		},
		when: func(ctx context.Context, s *scene) { s.job(ctx, "ours", s.name("ours"), 2, 2, claiming("one")) },
		want: outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 2, "ours": 2}},
	},
	{
		name: "a queue takes nothing beyond what it deserves",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 4)
			ours, theirs := s.oursAndTheirs(ctx, "root", 1, 2)
			s.singles(ctx, "ours", ours, 1, claiming("one"))
			s.singles(ctx, "theirs", theirs, 3, claiming("one"))
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "more", s.name("ours"), 1, claiming("one")) },
		want: outcome{evicted: tally{}, running: tally{"ours": 1, "theirs": 3}},
		then: func(ctx context.Context, s *scene) { s.expectExplained(ctx, "more", 1, names(s.class)) },
	},
	{
		name: "a queue takes nothing of what another queue deserves",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 2)
			_, theirs := s.oursAndTheirs(ctx, "root", 2, 2)
			s.singles(ctx, "theirs", theirs, 2, claiming("one"))
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 1, claiming("one")) },
		want: outcome{evicted: tally{}, running: tally{"theirs": 2}},
		then: func(ctx context.Context, s *scene) { s.expectExplained(ctx, "ours", 1, names(s.class)) },
	},
	{
		name: "a queue that lists nothing deserves nothing where a sibling lists the class",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 4)
			s.team(ctx, "ours", "root", s.deserves(4))
			s.singles(ctx, "theirs", s.team(ctx, "theirs", "root"), 4, claiming("one"))
		},
		when: func(ctx context.Context, s *scene) { s.job(ctx, "ours", s.name("ours"), 4, 4, claiming("one")) },
		want: outcome{evicted: tally{"theirs": 4}, running: tally{"ours": 4}},
	},
	{
		name: "a guarantee is deserved without being listed",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 4)
			s.team(ctx, "ours", "root", s.guaranteed(1))
			s.singles(ctx, "theirs", s.team(ctx, "theirs", "root", s.deserves(3)), 4, claiming("one"))
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 2, claiming("one")) },
		want: outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 3, "ours": 1}},
	},
	{
		name: "two queues that ask at the same time are both served, from different victims",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 4)
			s.team(ctx, "first", "root", s.deserves(1))
			s.team(ctx, "second", "root", s.deserves(1))
			s.singles(ctx, "theirs", s.team(ctx, "theirs", "root", s.deserves(2)), 4, claiming("one"), slowly)
		},
		when: func(ctx context.Context, s *scene) {
			s.singles(ctx, "first", s.name("first"), 1, claiming("one"))
			s.singles(ctx, "second", s.name("second"), 1, claiming("one"))
		},
		want: outcome{evicted: tally{"theirs": 2}, running: tally{"theirs": 2, "first": 1, "second": 1}},
	},
	{
		name: "the whole gang finds a place, or nobody is evicted for a part of it",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 4)
			_, theirs := s.oursAndTheirs(ctx, "root", 2, 3)
			s.singles(ctx, "theirs", theirs, 4, claiming("one"))
		},
		when: func(ctx context.Context, s *scene) { s.job(ctx, "ours", s.name("ours"), 2, 2, claiming("one")) },
		want: outcome{evicted: tally{}, running: tally{"theirs": 4}},
		then: func(ctx context.Context, s *scene) { s.expectGroupExplained(ctx, "ours", Not(BeEmpty())) },
	},
}
