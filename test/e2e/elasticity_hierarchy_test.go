// SPDX-License-Identifier: Apache-2.0

package e2e

import "context"

// tree is the hierarchy top / left (a, b), right (c). Top and left are quotas. The other fields are the devices that a, b, left, and right deserve.
type tree struct {
	top, left             int64
	a, b, leftOwn, rights int64
}

func (t tree) plant(ctx context.Context, s *scene) {
	top := s.team(ctx, "top", "root", s.atMost(t.top))
	left := s.team(ctx, "left", top, s.atMost(t.left), s.deserves(t.leftOwn))
	s.team(ctx, "a", left, s.deserves(t.a))
	s.team(ctx, "b", left, s.deserves(t.b))
	s.team(ctx, "c", s.team(ctx, "right", top, s.deserves(t.rights)))
}

// hierarchyScenarios have three levels of queues. The nodes always have free devices: only quotas are full.
var hierarchyScenarios = []scenario{
	{
		name: "a queue takes from its sibling what fills both of the two levels above",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 6)
			tree{top: 4, left: 2, leftOwn: 2, a: 1, b: 1, rights: 2}.plant(ctx, s)
			s.singles(ctx, "b", s.name("b"), 2, claiming("one"), slowly)
			s.singles(ctx, "c", s.name("c"), 2, claiming("one"), slowly)
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "a", s.name("a"), 1, claiming("one")) },
		want: outcome{evicted: tally{"b": 1}, running: tally{"a": 1, "b": 1, "c": 2}},
	},
	{
		name: "a queue takes from its parent's sibling what its parent deserves",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 6)
			tree{top: 4, left: 4, leftOwn: 2, a: 1, b: 1, rights: 2}.plant(ctx, s)
			s.singles(ctx, "b", s.name("b"), 1, claiming("one"))
			s.singles(ctx, "c", s.name("c"), 3, claiming("one"))
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "a", s.name("a"), 1, claiming("one")) },
		want: outcome{evicted: tally{"c": 1}, running: tally{"a": 1, "b": 1, "c": 2}},
	},
	{
		name: "a gang takes from its sibling and from its parent's sibling what fills one level each",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 6)
			tree{top: 4, left: 3, leftOwn: 3, a: 2, b: 1, rights: 1}.plant(ctx, s)
			s.singles(ctx, "b", s.name("b"), 2, claiming("one"))
			s.singles(ctx, "c", s.name("c"), 2, claiming("one"))
		},
		when: func(ctx context.Context, s *scene) { s.job(ctx, "a", s.name("a"), 2, 2, claiming("one")) },
		want: outcome{evicted: tally{"b": 1, "c": 1}, running: tally{"a": 2, "b": 1, "c": 1}},
	},
	{
		name: "a queue takes nothing from its parent's sibling when its parent has what it deserves",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 6)
			tree{top: 4, left: 4, leftOwn: 1, a: 1, b: 1, rights: 2}.plant(ctx, s)
			s.singles(ctx, "b", s.name("b"), 1, claiming("one"))
			s.singles(ctx, "c", s.name("c"), 3, claiming("one"))
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "a", s.name("a"), 1, claiming("one")) },
		want: outcome{evicted: tally{}, running: tally{"b": 1, "c": 3}},
		then: func(ctx context.Context, s *scene) { s.expectExplained(ctx, "a", 1, names(s.name("top"), s.class)) },
	},
}
