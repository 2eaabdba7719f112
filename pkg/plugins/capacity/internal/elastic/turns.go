// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra/turns"
)

const (
	// maxInVain is the maximum number of unsuccessful searches per rule in a session. It applies to jobs without an earlier answer and to
	// other jobs separately. minInVain jobs always get their turn, however long it takes.
	maxInVain, minInVain = 32, 2
	// timeInVain limits the time for unsuccessful searches per rule in a session. One job takes some milliseconds, and more in large
	// clusters.
	timeInVain = 100 * time.Millisecond
	// After long searches, a rule asks only jobs without an earlier answer, for rest times as long as they took, and for longestRest at most. So
	// searches that change nothing take a part of all time.
	rest, longestRest = 4, 10 * time.Second
)

// evictionTurns decides for which jobs to search victims. Otherwise, many jobs without possible victims would slow down every session in which
// something has changed. Skipped jobs get their turn in later sessions.
type evictionTurns struct {
	// waiting are the skipped PodGroups.
	waiting turns.Line
	// turn has the PodGroups whose turn it is in this session. passed has those skipped in it.
	turn, passed map[types.UID]bool
	// first counts the unsuccessful searches for jobs without an earlier answer. others counts those for other jobs without a turn.
	first, others int
	// looked counts the unsuccessful searches, and spent is their duration, with that of searches that found only pods which leave already.
	looked int
	spent  time.Duration
	// restsUntil is when there are searches for jobs with an earlier answer again.
	restsUntil time.Time
	resting    bool
	// most limits the unsuccessful searches, for first and others each.
	most int
}

// begin begins a session. PodGroups that no longer ask no longer wait. The number of turns is chosen to fit into timeInVain.
func (t *evictionTurns) begin(now time.Time) {
	if t.spent > timeInVain && !t.resting { // jobs that have not asked before do not prolong it
		t.restsUntil = now.Add(min(rest*t.spent, longestRest))
	}
	t.resting = now.Before(t.restsUntil)
	if t.most == 0 {
		t.most = maxInVain
	}
	if t.looked > 0 {
		t.most = maxInVain
		if each := t.spent / time.Duration(t.looked); each > 0 {
			t.most = min(maxInVain, max(minInVain, int(timeInVain/each)))
		}
	}
	t.waiting.Keep(func(group string) bool { return t.passed[types.UID(group)] })
	t.turn, t.passed, t.first, t.others, t.looked, t.spent = map[types.UID]bool{}, map[types.UID]bool{}, 0, 0, 0, 0
	if t.resting {
		return
	}
	for _, group := range t.waiting.Take(t.most) {
		t.turn[types.UID(group)] = true
	}
}

// may reports whether a job may search for victims. known says that an earlier search found none.
func (t *evictionTurns) may(job *api.JobInfo, known bool) bool {
	group, inTime := job.PodGroup.UID, t.spent < timeInVain
	switch {
	case t.turn[group]:
		return true
	case inTime && known && !t.resting && t.others < t.most-len(t.turn), inTime && !known && t.first < t.most:
		return true
	}
	t.passed[group] = true
	t.waiting.Join(string(job.Queue), string(group))
	return false
}

// awaits notes a search that found only pods which leave already.
func (t *evictionTurns) awaits(took time.Duration) { t.spent += took }

// failed notes an unsuccessful search and its duration.
func (t *evictionTurns) failed(job *api.JobInfo, known bool, took time.Duration) {
	t.looked, t.spent = t.looked+1, t.spent+took
	switch {
	case t.turn[job.PodGroup.UID]:
	case known:
		t.others++
	default:
		t.first++
	}
}
