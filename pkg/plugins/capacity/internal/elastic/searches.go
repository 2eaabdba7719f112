// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"errors"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// searchesInVain is the number of nodes on which an action of upstream looks for victims in vain in one session. This takes some tenths of a second.
// fewestInVain pods are looked for in any case.
const searchesInVain, fewestInVain = 20_000, 32

// ErrSearched refuses a pod for which upstream's action looks for no victims, or for no further ones.
var ErrSearched = errors.New("no victims were found for the pod, or others come first")

// Searches has those of an action of upstream in one session. Otherwise, each pod for which nobody can be evicted would be looked for on each node in each session.
type Searches struct {
	// before has the pods that were looked for in vain since all pods had their turn. Now has those of this session, and most limits their number.
	before, now map[api.TaskID]bool
	most        int
	// count has the number of searches for each pod. Last is the last pod.
	count map[api.TaskID]int
	last  *api.TaskInfo
}

// NewSearches begins a session with a number of nodes. Before is what the last session ended with.
func NewSearches(before map[api.TaskID]bool, nodes int) *Searches {
	return &Searches{before: before, now: map[api.TaskID]bool{}, most: max(fewestInVain, searchesInVain/max(1, nodes)), count: map[api.TaskID]int{}}
}

// May counts a search, and reports whether it may begin. The action looks among the other jobs of the queue, and in the job of the pod. For each queue,
// preempt looks again in the jobs of all queues, which takes minutes with many queues and waiting pods.
func (s *Searches) May(task *api.TaskInfo) bool {
	s.settle()
	s.count[task.UID]++
	if s.before[task.UID] || s.count[task.UID] > 2 || len(s.now) >= s.most && !s.now[task.UID] {
		return false
	}
	s.last = task
	return true
}

// settle notes whether the last search was in vain.
func (s *Searches) settle() {
	if s.last != nil && s.last.Status == api.Pending {
		s.now[s.last.UID] = true
	}
	s.last = nil
}

// End returns the pods that let others go first in the next session. There are none if all pods have had their turn.
func (s *Searches) End() map[api.TaskID]bool {
	s.settle()
	if len(s.now) < s.most {
		return nil
	}
	for pod := range s.before {
		s.now[pod] = true
	}
	return s.now
}
