// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
)

// explainEviction explains which pods would have to go before a job can start. It is nil if the job waits for nothing that others hold.
func (s *Session) explainEviction(job *api.JobInfo) *v1alpha1.Eviction {
	switch {
	case job.IsPending():
		return s.explainEntry(job)
	case len(job.TaskStatusIndex[api.Pending]) == 0:
		return nil
	default:
		return s.explainRules(job)
	}
}

// explainRules explains the evictions for a job by the first rule that has any.
func (s *Session) explainRules(job *api.JobInfo) *v1alpha1.Eviction {
	if why := s.whyNotAsking(job); why != "" {
		return &v1alpha1.Eviction{Message: why}
	}
	configured := false
	for _, rule := range []eviction.Rule{eviction.Reclaim, eviction.Preempt} {
		if !conf.EnabledActionMap[string(rule)] {
			continue
		}
		configured = true
		if told := s.explainPlan(rule, job); told != nil {
			return told
		}
	}
	if !configured {
		return &v1alpha1.Eviction{Message: "The scheduler's configuration has neither the action reclaim nor the action preempt"}
	}
	if s.Elastic.StartsNever(job) {
		return &v1alpha1.Eviction{Message: "Nobody is evicted for it: it could not start even if nobody else had anything"}
	}
	if cannot, _ := s.Elastic.CannotReclaim(job); cannot != nil {
		return &v1alpha1.Eviction{Rule: string(eviction.Reclaim), Message: cannot.Message()}
	}
	return &v1alpha1.Eviction{Message: fmt.Sprintf(
		"Nobody is evicted for it: queue <%s> deserves no more of what it lacks, no job of lower priority in the queue may be preempted, or that would not be enough", job.Queue)}
}

// whyNotAsking says why a job does not ask for the room of other pods. It is empty if the job asks.
func (s *Session) whyNotAsking(job *api.JobInfo) string {
	if !s.Placements.AsksForDevices(job) {
		return "The job asks for no devices and no limited cards: Volcano's own actions decide whether others are evicted for it"
	}
	if missing := s.Checks.NotReady(); missing != nil {
		return "Nobody is evicted before the scheduler knows everything: " + missing.Message()
	}
	if job.ContainsNetworkTopology() {
		return "Nobody is evicted for a job with a network topology"
	}
	if valid := s.Volcano.JobValid(job); valid != nil && !valid.Pass {
		return "Nobody is evicted for a job that cannot start: " + valid.Message
	}
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if eviction.MayAsk(task) {
			return ""
		}
	}
	return "Nobody is evicted for it: its pods have scheduling gates, or the preemptionPolicy Never"
}

// explainPlan explains which pods would be evicted for a job by a rule, nil if none would. It changes nothing.
func (s *Session) explainPlan(rule eviction.Rule, job *api.JobInfo) *v1alpha1.Eviction {
	plan := s.Elastic.Solver().Plan(rule, job)
	if plan == nil {
		return nil
	}
	defer plan.Discard()
	told, described := &v1alpha1.Eviction{Possible: true, Rule: string(rule)}, s.Described
	for i := range plan.Victims {
		victim := &plan.Victims[i]
		other := s.jobOf(victim.TaskInfo)
		holder, holds := described.Holder(other, victim.TaskInfo)
		if !holds {
			holder = v1alpha1.Holder{Object: describe.Object("Pod", &victim.Pod.ObjectMeta), Node: victim.NodeName, State: v1alpha1.IsReleasing}
			if other != nil {
				holder.Queue, holder.Workload = s.Elastic.ChargedQueue(victim.TaskInfo), other.Name
			}
		}
		told.Victims = append(told.Victims, holder)
	}
	told.Message = fmt.Sprintf("<%d> pods would be evicted, so that <%d> pods of the job can start", len(plan.Victims), len(plan.Pods))
	if len(plan.Victims) == 0 {
		told.Message = fmt.Sprintf("<%d> pods of the job can start as soon as others have left", len(plan.Pods))
	}
	return told
}
