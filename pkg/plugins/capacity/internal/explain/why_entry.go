// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/checks"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
)

// explainEntry explains whether pods would be evicted for a job that is not admitted to its queue. A job that may take room from others is
// admitted. So it is refused only if no pod may be evicted for it.
func (s *Session) explainEntry(job *api.JobInfo) *v1alpha1.Eviction {
	info := s.Volcano.Queues[job.Queue]
	if info == nil {
		return nil
	}
	queue, refusal := s.Snapshot.Queue(info)
	if refusal != nil {
		return nil
	}
	ask := s.Checks.Ask(queue, job)
	switch first := s.Checks.Job(ask); {
	case first.Refusal == nil:
		return s.explainLateEntry(job)
	case first.Name != checks.Quota:
		return &v1alpha1.Eviction{Message: "Nobody is evicted for it: the cause is nothing that others hold"}
	default:
		return &v1alpha1.Eviction{Message: "Nobody is evicted for it: " + s.whyNoEntry(ask)}
	}
}

// explainLateEntry explains which pods would be evicted for a job whose admission only other plugins, or the order of this session,
// have prevented.
func (s *Session) explainLateEntry(job *api.JobInfo) *v1alpha1.Eviction {
	if len(job.TaskStatusIndex[api.Pending]) == 0 {
		return &v1alpha1.Eviction{Message: "Nobody is evicted for it before it is let in and its pods exist"}
	}
	told := s.explainRules(job)
	told.Message = "When it has been let in: " + told.Message
	return told
}

// whyNoEntry returns why a job may not take the room that it lacks from other jobs.
func (s *Session) whyNoEntry(ask checks.JobAsk) string {
	if !ask.Needs.Any && !ask.Needs.Cards {
		return "it asks for no devices and no limited cards, and waits until there is room for it"
	}
	refused, err := s.Snapshot.FitsInqueue(ask.Queue, ask.Needs)
	if err != nil || refused == nil {
		return "what it needs cannot be counted"
	}
	if never := NeverFits(refused); never != "" {
		return never
	}
	from, takes := s.Checks.Takings(ask)
	entry := Entry{Snapshot: s.Snapshot, Takings: from, Preempts: conf.EnabledActionMap[string(eviction.Preempt)]}
	if !takes {
		return entry.NoTakings()
	}
	no, _ := s.Checks.Right(ask, from)
	if no == nil {
		return "what it needs cannot be counted"
	}
	return entry.NoRight(no)
}
