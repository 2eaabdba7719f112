// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra/turns"
)

const (
	// maxInVain is for how many jobs a session looks for victims in vain at most, by each rule: those that it looks for the first time, and as
	// many others. A few always have their turn, however long it takes.
	maxInVain, minInVain = 32, 2
	// timeInVain is how long a session looks for victims in vain, by each rule. One job takes some milliseconds, and more in large clusters.
	timeInVain = 100 * time.Millisecond
)

// evictionTurns decides for which jobs victims are looked for, so that many jobs for which nobody can be evicted do not slow down all sessions
// in which something has changed. Those that are passed over come in turn in the next sessions.
type evictionTurns struct {
	// waiting are the PodGroups that were passed over.
	waiting turns.Line
	// turn has those whose turn it is in this session, and passed those that are passed over in it.
	turn, passed map[types.UID]bool
	// first is how often nobody was found for a job that was looked at for the first time, and others how often for one that had no turn.
	first, others int
	// looked is how often nobody was found, and spent how long that took.
	looked int
	spent  time.Duration
	// most is for how many jobs nobody may be found, first ones and others each.
	most int
}

// begin begins a session. Who does not ask any more does not wait any more. As many have a turn as probably do not take too long.
func (t *evictionTurns) begin() {
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
	for _, group := range t.waiting.Take(t.most) {
		t.turn[types.UID(group)] = true
	}
}

// may reports whether victims may be looked for. Known says that nobody was found before.
func (t *evictionTurns) may(job *api.JobInfo, known bool) bool {
	group, inTime := job.PodGroup.UID, t.spent < timeInVain
	switch {
	case t.turn[group]:
		return true
	case inTime && known && t.others < t.most-len(t.turn), inTime && !known && t.first < t.most:
		return true
	}
	t.passed[group] = true
	t.waiting.Join(string(job.Queue), string(group))
	return false
}

// failed notes that nobody was found, and how long that took.
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
