// SPDX-License-Identifier: Apache-2.0

package e2e

import "context"

// tree is the hierarchy top / left (a, b), right (c). Top and left are quotas. The other fields are the devices that a, b, left, and right deserve.
type tree struct {
	top, left             int64
	a, b, leftOwn, rights int64
}

// with plants the tree on a node with six devices, and gives devices to pods of b and c.
func (t tree) with(b, c int, options ...podOption) func(context.Context, *scene) {
	return func(ctx context.Context, s *scene) {
		s.h100s(ctx, "n", 6)
		top := s.team(ctx, "top", "root", s.atMost(t.top))
		left := s.team(ctx, "left", top, s.atMost(t.left), s.deserves(t.leftOwn))
		s.team(ctx, "a", left, s.deserves(t.a))
		s.team(ctx, "b", left, s.deserves(t.b))
		s.team(ctx, "c", s.team(ctx, "right", top, s.deserves(t.rights)))
		s.singles(ctx, "b", s.name("b"), b, append(options, claiming("one"))...)
		s.singles(ctx, "c", s.name("c"), c, append(options, claiming("one"))...)
	}
}

// hierarchyScenarios have three levels of queues. The nodes always have free devices: only quotas are full.
var hierarchyScenarios = []scenario{
	{
		name: "a queue takes back from its sibling although the queue above both deserves nothing, and the one above that is full",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 8)
			company := s.team(ctx, "company", "root", s.atMost(4))
			_, theirs := s.oursAndTheirs(ctx, s.team(ctx, "organization", company, s.atMost(3)), 1, 1)
			s.singles(ctx, "theirs", theirs, 2, claiming("one"))
			s.singles(ctx, "other", s.team(ctx, "other", company), 2, claiming("one"))
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 1, claiming("one")) },
		want: outcome{evicted: tally{"theirs": 1}, running: tally{"theirs": 1, "other": 2, "ours": 1}},
	},
	{
		name:  "a queue takes from its sibling what fills both of the two levels above",
		given: tree{top: 4, left: 2, leftOwn: 2, a: 1, b: 1, rights: 2}.with(2, 2, slowly),
		when:  func(ctx context.Context, s *scene) { s.singles(ctx, "a", s.name("a"), 1, claiming("one")) },
		want:  outcome{evicted: tally{"b": 1}, running: tally{"a": 1, "b": 1, "c": 2}},
	},
	{
		name:  "a queue takes from its parent's sibling what its parent deserves",
		given: tree{top: 4, left: 4, leftOwn: 2, a: 1, b: 1, rights: 2}.with(1, 3),
		when:  func(ctx context.Context, s *scene) { s.singles(ctx, "a", s.name("a"), 1, claiming("one")) },
		want:  outcome{evicted: tally{"c": 1}, running: tally{"a": 1, "b": 1, "c": 2}},
	},
	{
		name:  "a gang takes from its sibling and from its parent's sibling what fills one level each",
		given: tree{top: 4, left: 3, leftOwn: 3, a: 2, b: 1, rights: 1}.with(2, 2),
		when:  func(ctx context.Context, s *scene) { s.job(ctx, "a", s.name("a"), 2, 2, claiming("one")) },
		want:  outcome{evicted: tally{"b": 1, "c": 1}, running: tally{"a": 2, "b": 1, "c": 1}},
	},
	{
		name:  "a queue takes nothing from its parent's sibling when its parent has what it deserves",
		given: tree{top: 4, left: 4, leftOwn: 1, a: 1, b: 1, rights: 2}.with(1, 3),
		when:  func(ctx context.Context, s *scene) { s.singles(ctx, "a", s.name("a"), 1, claiming("one")) },
		want:  outcome{evicted: tally{}, running: tally{"b": 1, "c": 3}},
		then:  func(ctx context.Context, s *scene) { s.expectExplained(ctx, "a", 1, names(s.name("top"), s.class)) },
	},
}
