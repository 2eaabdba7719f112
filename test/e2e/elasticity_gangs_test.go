// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/gomega"
)

// gangsOnBothSides creates a node of four devices. A gang of a queue that deserves two of them holds all.
func gangsOnBothSides(minAvailable int32, options ...podOption) func(context.Context, *scene) {
	return againstGangThatDeserves(2, minAvailable, options...)
}

// againstGangThatDeserves is gangsOnBothSides with a gang whose queue deserves another number of devices.
func againstGangThatDeserves(deserved int64, minAvailable int32, options ...podOption) func(context.Context, *scene) {
	return func(ctx context.Context, s *scene) {
		s.h100s(ctx, "n", 4)
		_, theirs := s.oursAndTheirs(ctx, "root", 2, deserved)
		s.job(ctx, "theirs", theirs, 4, minAvailable, append(options, claiming("one"))...)
	}
}

func gangOfTwoAsks(ctx context.Context, s *scene) {
	s.job(ctx, "ours", s.name("ours"), 2, 2, claiming("one"))
}

// gangScenarios are about gangs as victims, with reclaimGangs: false.
var gangScenarios = []scenario{
	{
		name: "a gang at its minimum loses nobody, and who asks is told of reclaimGangs",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 4)
			_, theirs := s.oursAndTheirs(ctx, "root", 2, 2)
			s.job(ctx, "first", theirs, 2, 2, claiming("one"))
			s.job(ctx, "second", theirs, 2, 2, claiming("one"))
		},
		when: gangOfTwoAsks,
		want: outcome{evicted: tally{}, running: tally{"first": 2, "second": 2}},
		then: func(ctx context.Context, s *scene) { s.expectGroupExplained(ctx, "ours", names("reclaimGangs")) },
	},
	{
		name:  "an elastic gang loses what is above its minimum, and its new pods wait",
		given: gangsOnBothSides(2, slowly),
		when:  gangOfTwoAsks,
		want:  outcome{evicted: tally{"theirs": 2}, running: tally{"theirs": 2, "ours": 2}},
		// A killed scheduler does not know what it evicted.
		meanwhile: func(ctx context.Context, s *scene) {
			Eventually(func() (string, error) { return tryDevicequota(ctx, "explain", "job/theirs", "-n", s.namespace) }).WithContext(ctx).
				Should(MatchRegexp(`Last eviction\n  \d+s ago, pod theirs-worker-\d: Evicted so that pod ` + s.namespace + `/ours-worker-\d of queue <` + s.name("ours") + `> starts`))
		},
	},
	{
		name:  "an elastic gang loses nobody for a gang that needs more than what is above its minimum",
		given: gangsOnBothSides(3),
		when:  gangOfTwoAsks,
		want:  outcome{evicted: tally{}, running: tally{"theirs": 4}},
		then:  func(ctx context.Context, s *scene) { s.expectGroupExplained(ctx, "ours", names("reclaimGangs")) },
	},
	{
		name: "pods that belong to no gang are taken before an elastic gang shrinks below its minimum",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 4)
			_, theirs := s.oursAndTheirs(ctx, "root", 2, 2)
			s.gangPods(ctx, "gang", theirs, 2, claiming("one"))
			s.singles(ctx, "single", theirs, 2, claiming("one"))
		},
		when: gangOfTwoAsks,
		want: outcome{evicted: tally{"single": 2}, running: tally{"gang": 2, "ours": 2}},
	},
}

// wholeGangScenarios are about gangs as victims, with reclaimGangs: true.
var wholeGangScenarios = []scenario{
	{
		name: "a gang is taken as a whole",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 4)
			low, high := s.priorities(ctx) // the priority decides which gang goes
			_, theirs := s.oursAndTheirs(ctx, "root", 2, 2)
			s.gangPods(ctx, "low", theirs, 2, claiming("one"), ofPriority(low))
			s.gangPods(ctx, "high", theirs, 2, claiming("one"), ofPriority(high))
		},
		when: func(ctx context.Context, s *scene) { s.singles(ctx, "ours", s.name("ours"), 2, claiming("one")) },
		// A killed scheduler loses the events that it has not written yet.
		meanwhile: func(ctx context.Context, s *scene) {
			s.expectNotified(ctx, "low", "Reclaimed", names(s.name("ours"), s.name("theirs"), s.class))
		},
		want: outcome{evicted: tally{"low": 2}, running: tally{"high": 2, "ours": 2}},
	},
	{
		name:  "an elastic gang is taken as a whole for a gang that needs more than what is above its minimum",
		given: againstGangThatDeserves(0, 3),
		when:  gangOfTwoAsks,
		want:  outcome{evicted: tally{"theirs": 4}, running: tally{"ours": 2}},
	},
	{
		name:  "an elastic gang of a queue that deserves its minimum loses nobody for a gang that needs more",
		given: gangsOnBothSides(3),
		when:  gangOfTwoAsks,
		want:  outcome{evicted: tally{}, running: tally{"theirs": 4}},
	},
	{
		name: "pods that belong to no gang are taken first",
		given: func(ctx context.Context, s *scene) {
			s.h100s(ctx, "n", 4)
			_, theirs := s.oursAndTheirs(ctx, "root", 2, 2)
			s.singles(ctx, "single", theirs, 2, claiming("one"))
			s.job(ctx, "gang", theirs, 2, 2, claiming("one"))
		},
		when: gangOfTwoAsks,
		want: outcome{evicted: tally{"single": 2}, running: tally{"gang": 2, "ours": 2}},
	},
}
