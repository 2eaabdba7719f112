// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/devicequota/devicequota/pkg/mistakes"
)

func TestProblemsAreReportedOnceAndCounted(t *testing.T) {
	const queue = " involvedObject{kind=Queue,apiVersion=scheduling.volcano.sh/v1beta1}"
	f := newFixture(t)
	f.queue("q")
	for _, session := range []struct {
		name  string
		add   func(mistakes.Problems)
		event []string
		count float64
	}{
		{"a problem", func(ps mistakes.Problems) { ps.Misplaced("q", "one") }, []string{"Warning QueueMisplaced The queue takes no pods: one" + queue}, 1},
		{"the same", func(ps mistakes.Problems) { ps.Misplaced("q", "one") }, nil, 1},
		{"another one", func(ps mistakes.Problems) { ps.Misplaced("q", "two") }, []string{"Warning QueueMisplaced The queue takes no pods: two" + queue}, 1},
		{"a queue that the session lacks has no event", func(ps mistakes.Problems) { ps.Misplaced("q", "two"); ps.Misplaced("gone", "one") }, nil, 2},
		{"none", func(mistakes.Problems) {}, nil, 0},
		{"the problem is back", func(ps mistakes.Problems) { ps.Misplaced("q", "two") }, []string{"Warning QueueMisplaced The queue takes no pods: two" + queue}, 1},
	} {
		problems := mistakes.Problems{}
		session.add(problems)
		f.Problems(problems, f.queues)
		f.expectEvents(session.name, session.event...)
		expectSeries(t, session.name, "volcano_queue_problems", "reason=QueueMisplaced", session.count)
	}
}

func TestClassesThatOverlapAreNoProblemWhereDevicesCountForAll(t *testing.T) {
	f := newFixture(t)
	f.queue("q")
	problems := mistakes.Problems{}
	problems.ClassesOverlap("q", []string{mistakes.Overlap{Class: "h100", Others: []string{"gpu"}}.String()}, true)
	f.Problems(problems, f.queues)
	f.expectEvents("told", "Normal ClassesOverlap The queue limits classes whose devices other classes have as well: devices of class h100 belong to gpu, too. "+
		"A device counts for each class that it matches and that some queue limits involvedObject{kind=Queue,apiVersion=scheduling.volcano.sh/v1beta1}")
	expectSeries(t, "told", "volcano_queue_problems", "reason=ClassesOverlap", 0.0)
	f.Problems(problems, f.queues)
	f.expectEvents("told again")
}
