// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
)

// priorities creates the two priority classes of the scenarios.
func (s *scene) priorities(ctx context.Context) (low, high string) {
	return s.priorityClass(ctx, "low", 1), s.priorityClass(ctx, "high", 1000)
}

// fourOfLowPriority fills a node of four devices, or a quota of four if the node has more.
func fourOfLowPriority(devices int, quota int64, options ...podOption) func(context.Context, *scene) {
	return func(ctx context.Context, s *scene) {
		s.h100s(ctx, "n", devices)
		low, _ := s.priorities(ctx)
		s.singles(ctx, "low", s.team(ctx, "team", "root", s.atMost(quota)), 4, append(options, claiming("one"), ofPriority(low))...)
	}
}

// preemptScenarios are about jobs that preempt jobs of lower priority in the same queue.
var preemptScenarios = []scenario{
	{
		name:  "a pod of high priority takes the place of one of four pods of low priority when the hardware is full",
		given: fourOfLowPriority(4, 8, slowly),
		when: func(ctx context.Context, s *scene) {
			s.singles(ctx, "high", s.name("team"), 1, claiming("one"), ofPriority(s.name("high")))
		},
		want: outcome{evicted: tally{"low": 1}, running: tally{"low": 3, "high": 1}},
		then: func(ctx context.Context, s *scene) {
			s.expectPromised("high")
			s.expectNotified(ctx, "low", "Preempted", names(fmt.Sprintf("pod %s/high-0 of the same queue <%s>", s.namespace, s.name("team")), "priority <1000>", "has <1>"))
		},
	},
	{
		name:  "a pod of high priority takes the place of one of four pods of low priority when the quota is full",
		given: fourOfLowPriority(6, 4),
		when: func(ctx context.Context, s *scene) {
			s.singles(ctx, "high", s.name("team"), 1, claiming("one"), ofPriority(s.name("high")))
		},
		want: outcome{evicted: tally{"low": 1}, running: tally{"low": 3, "high": 1}},
	},
	{
		name:  "a gang of high priority takes as many places as it has pods",
		given: fourOfLowPriority(4, 8),
		when: func(ctx context.Context, s *scene) {
			s.job(ctx, "high", s.name("team"), 3, 3, claiming("one"), ofPriority(s.name("high")))
		},
		want: outcome{evicted: tally{"low": 3}, running: tally{"low": 1, "high": 3}},
	},
	{
		name:  "a pod of the same priority waits",
		given: fourOfLowPriority(4, 8),
		when: func(ctx context.Context, s *scene) {
			s.singles(ctx, "equal", s.name("team"), 1, claiming("one"), ofPriority(s.name("low")))
		},
		want: outcome{evicted: tally{}, running: tally{"low": 4}},
		then: func(ctx context.Context, s *scene) { s.expectExplained(ctx, "equal", 1, names(s.class)) },
	},
	{
		name: "a pod of high priority takes nothing from another queue by its priority",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 2)
			low, _ := s.priorities(ctx)
			_, theirs := s.oursAndTheirs(ctx, "root", 2, 2)
			s.singles(ctx, "theirs", theirs, 2, claiming("one"), ofPriority(low))
		},
		when: func(ctx context.Context, s *scene) {
			s.singles(ctx, "high", s.name("ours"), 1, claiming("one"), ofPriority(s.name("high")))
		},
		want: outcome{evicted: tally{}, running: tally{"theirs": 2}},
		then: func(ctx context.Context, s *scene) { s.expectExplained(ctx, "high", 1, names(s.class)) },
	},
}
