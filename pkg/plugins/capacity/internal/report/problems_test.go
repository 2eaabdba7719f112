// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/devicequota/devicequota/pkg/problems"
)

func TestProblemsAreReportedOnceAndCounted(t *testing.T) {
	const queue = " involvedObject{kind=Queue,apiVersion=scheduling.volcano.sh/v1beta1}"
	f := newFixture(t)
	f.queue("q")
	for _, session := range []struct {
		name  string
		add   func(problems.Problems)
		event []string
		count float64
	}{
		{"a problem", func(ps problems.Problems) { ps.Misplaced("q", "one") }, []string{"Warning QueueMisplaced The queue takes no pods: one" + queue}, 1},
		{"the same", func(ps problems.Problems) { ps.Misplaced("q", "one") }, nil, 1},
		{"another one", func(ps problems.Problems) { ps.Misplaced("q", "two") }, []string{"Warning QueueMisplaced The queue takes no pods: two" + queue}, 1},
		{"a queue that the session lacks has no event", func(ps problems.Problems) { ps.Misplaced("q", "two"); ps.Misplaced("gone", "one") }, nil, 2},
		{"none", func(problems.Problems) {}, nil, 0},
		{"the problem is back", func(ps problems.Problems) { ps.Misplaced("q", "two") }, []string{"Warning QueueMisplaced The queue takes no pods: two" + queue}, 1},
	} {
		found := problems.Problems{}
		session.add(found)
		f.Problems(found, f.queues)
		f.expectEvents(session.name, session.event...)
		expectSeries(t, session.name, "volcano_queue_problems", "reason=QueueMisplaced", session.count)
	}
}

func TestClassesThatOverlapAreNoProblemWhereDevicesCountForAll(t *testing.T) {
	f := newFixture(t)
	f.queue("q")
	found := problems.Problems{}
	found.ClassesOverlap("q", []string{problems.Overlap{Class: "h100", Others: []string{"gpu"}}.String()}, true)
	f.Problems(found, f.queues)
	f.expectEvents("told", "Normal ClassesOverlap The queue limits classes whose devices other classes have as well: devices of class h100 belong to gpu, too. "+
		"A device counts for each class that it matches and that some queue limits involvedObject{kind=Queue,apiVersion=scheduling.volcano.sh/v1beta1}")
	expectSeries(t, "told", "volcano_queue_problems", "reason=ClassesOverlap", 0.0)
	f.Problems(found, f.queues)
	f.expectEvents("told again")
}
