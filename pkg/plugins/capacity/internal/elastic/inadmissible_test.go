// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
)

var now = time.Unix(1_000_000, 0)

// askingJob is a job of a queue with a PodGroup.
func askingJob(queue, group string) *api.JobInfo {
	job := &api.JobInfo{Queue: api.QueueID(queue), PodGroup: &api.PodGroup{}}
	job.PodGroup.UID = types.UID(group)
	return job
}

// TestManyHopelessJobsAreAskedInTurn: something changes in each session, so all of them ask.
func TestManyHopelessJobsAreAskedInTurn(t *testing.T) {
	const jobs = 300
	known, asked, turns := map[types.UID]bool{}, map[types.UID]int{}, &evictionTurns{}
	session := func() (in int) {
		turns.begin(now)
		for i := range jobs {
			group := types.UID(fmt.Sprint("g", i))
			job := askingJob("q", string(group))
			if !turns.may(job, known[group]) {
				continue
			}
			turns.failed(job, known[group], time.Millisecond)
			known[group] = true
			asked[group]++
			in++
		}
		return in
	}
	const rounds = 3
	for i := range rounds * (jobs/maxInVain + 1) {
		if in := session(); in > 2*maxInVain {
			t.Errorf("session %d looks for victims %d times", i, in)
		}
	}
	for group, n := range asked {
		if n < rounds-1 || n > rounds+1 {
			t.Errorf("job %s was asked %d times", group, n)
		}
	}
	if len(asked) != jobs {
		t.Errorf("%d jobs were asked", len(asked))
	}
	turns.begin(now)
	if !turns.may(askingJob("q", "new"), false) {
		t.Error("a new job waits for those that ask in vain")
	}
}

// TestSearchesThatTakeLongTakeAPartOfAllTime: new jobs are asked all the same.
func TestSearchesThatTakeLongTakeAPartOfAllTime(t *testing.T) {
	turns, at, spent := &evictionTurns{}, now, time.Duration(0)
	for range 1000 {
		turns.begin(at)
		for i := range 10 {
			if job := askingJob("q", fmt.Sprint("g", i)); turns.may(job, true) {
				turns.failed(job, true, time.Second)
				spent += time.Second
			}
		}
		if !turns.may(askingJob("q", "new"), false) && !turns.resting {
			turns.failed(askingJob("q", "new"), false, 0)
		} else if turns.resting && turns.passed["new"] {
			t.Fatal("a new job waits while those rest that ask in vain")
		}
		at = at.Add(time.Second)
	}
	if all := at.Sub(now); spent > all/3 || spent < all/20 {
		t.Errorf("searches in vain take %s of %s", spent, all)
	}
	turns.awaits(time.Second)
	if turns.begin(at); !turns.resting || turns.may(askingJob("q", "g0"), true) {
		t.Error("searches that find only leaving pods take all time")
	}
}

// TestNewJobsDoNotKeepOthersResting: neither do jobs that wait for leaving pods.
func TestNewJobsDoNotKeepOthersResting(t *testing.T) {
	turns, at, known, fresh := &evictionTurns{}, now, 0, 0
	for second := range 600 {
		turns.begin(at)
		if job := askingJob("other", fmt.Sprint("n", second/10)); second%10 == 0 && turns.may(job, false) {
			turns.failed(job, false, time.Second)
		}
		if turns.may(askingJob("other", "awaits"), false) {
			turns.awaits(200 * time.Millisecond)
		}
		if turns.may(askingJob("q", "honest"), true) {
			known++
		}
		if turns.may(askingJob("q", "new"), false) {
			fresh++
		}
		at = at.Add(time.Second)
	}
	if known < 50 || fresh < 50 {
		t.Errorf("in ten minutes, the known job is asked %d times, the new one %d times", known, fresh)
	}
}

func TestWhoIsGoneHasNoTurn(t *testing.T) {
	turns := &evictionTurns{}
	turns.begin(now)
	for i := range 3 * maxInVain {
		if job := askingJob("q", fmt.Sprint("g", i)); turns.may(job, true) {
			turns.failed(job, true, 0)
		}
	}
	if turns.begin(now); len(turns.turn) != maxInVain {
		t.Errorf("%d have a turn", len(turns.turn))
	}
	if turns.begin(now); len(turns.turn) != 0 || turns.waiting.Len() != 0 {
		t.Errorf("%d have a turn, %d wait", len(turns.turn), turns.waiting.Len())
	}
}

// TestSearchesThatTakeLongAreFewer: a session ends in time. An honest job of another queue that comes last gets its turn in the next
// session.
func TestSearchesThatTakeLongAreFewer(t *testing.T) {
	const each = 50 * time.Millisecond
	turns, known := &evictionTurns{}, map[types.UID]bool{}
	asks := func(queue, group string) bool {
		job := askingJob(queue, group)
		may := turns.may(job, known[job.PodGroup.UID])
		if may {
			turns.failed(job, known[job.PodGroup.UID], each)
			known[job.PodGroup.UID] = true
		}
		return may
	}
	for session := range 100 {
		turns.begin(time.Unix(int64(session)*3600, 0))
		for i := range 200 {
			asks("many", fmt.Sprint("g", i))
		}
		honest := session >= 50 && asks("one", "honest")
		if turns.spent > 2*timeInVain {
			t.Errorf("session %d looks for victims in vain for %s", session, turns.spent)
		}
		if honest {
			if session > 51 {
				t.Errorf("the job of the other queue has its turn in session %d", session)
			}
			return
		}
	}
	t.Error("the job of the other queue has no turn")
}

// DRA's offers on a node change without a new version of the node, and a device plugin may list as many devices as DRA served.
func TestTheStateOfANodeFollowsWhatDRAServes(t *testing.T) {
	one := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	info := api.NewNodeInfo(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "7"}, Status: corev1.NodeStatus{Allocatable: one, Capacity: one}})
	h := NewCache()
	listed := h.stateOfNode(info)
	served := info.Node.DeepCopy()
	served.Annotations = map[string]string{dra.ServedAnnotation: "nvidia.com/gpu"}
	info.SetNode(served)
	if h.stateOfNode(info) == listed {
		t.Error("the state is the same, whether a device plugin or DRA serves the resource")
	}
	info.SetNode(info.Node.DeepCopy())
	info.Node.Annotations = map[string]string{"heartbeat": "1"}
	if h.stateOfNode(info) != listed {
		t.Error("the state is another one, although nothing that decides has changed")
	}
}
