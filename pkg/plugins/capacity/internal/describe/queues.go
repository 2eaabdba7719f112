// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// Queues returns the state of all queues, parents before their children.
func (s *Session) Queues() []v1alpha1.Queue {
	paths := map[string][]string{}
	queues := make([]v1alpha1.Queue, 0, len(s.Snapshot.Queues))
	places := make(map[string]int, len(s.Snapshot.Queues))
	for _, info := range s.Snapshot.Queues {
		paths[info.Name] = s.pathOf(info.Name)
		queues = append(queues, v1alpha1.Queue{Name: info.Name, State: string(info.Queue.Status.State)})
	}
	slices.SortFunc(queues, func(a, b v1alpha1.Queue) int { return slices.Compare(paths[a.Name], paths[b.Name]) })
	for i := range queues {
		q := &queues[i]
		places[q.Name] = i
		if path := paths[q.Name]; len(path) > 1 {
			q.Parent = path[len(path)-2]
		}
		q.Figures = s.figuresOf(q.Name)
	}
	s.addProblems(queues, places)
	s.countWorkloads(queues, places)
	return queues
}

// pathOf returns a queue and its ancestors, the root first. A queue without a place in the hierarchy is alone.
func (s *Session) pathOf(name string) []string {
	id, found := s.Snapshot.Ledger.Queue(name)
	if !found {
		return []string{name}
	}
	path := slices.Clone(s.Snapshot.Ledger.Path(id))
	slices.Reverse(path)
	return path
}

// addProblems adds the problems of each queue.
func (s *Session) addProblems(queues []v1alpha1.Queue, places map[string]int) {
	for problem, message := range s.Snapshot.Problems {
		if i, found := places[problem.Queue]; found {
			queues[i].Problems = append(queues[i].Problems, v1alpha1.Problem{Reason: problem.Reason, Message: message, Harmless: problem.Harmless})
		}
	}
	for i := range queues {
		slices.SortFunc(queues[i].Problems, func(a, b v1alpha1.Problem) int { return cmp.Compare(a.Reason, b.Reason) })
	}
}

func (s *Session) countWorkloads(queues []v1alpha1.Queue, places map[string]int) {
	for _, job := range s.Snapshot.Jobs {
		i, found := places[string(job.Queue)]
		if !found || job.PodGroup == nil {
			continue
		}
		q := &queues[i]
		if q.Jobs == nil {
			q.Jobs = map[string]int32{}
		}
		q.Jobs[string(job.PodGroup.Status.Phase)]++
		for status, tasks := range job.TaskStatusIndex {
			switch {
			case status == api.Pending || status == api.Pipelined:
				q.WaitingPods += int32(len(tasks))
			case api.AllocatedStatus(status):
				q.RunningPods += int32(len(tasks))
			}
		}
	}
}
