// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/checks"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// tellOthers adds who holds what is missing, and who would have to go. What others hold does not matter if no node would do even if it were
// empty.
func (s *Session) tellOthers(told *v1alpha1.Explanation, job *api.JobInfo, task *api.TaskInfo, cause report.Refusal) {
	if told.Cause != nil && told.Cause.Reason == report.NeverFitsReason {
		told.Eviction = startsNever()
		return
	}
	tellHolders(told, s.Described, task, cause)
	told.Eviction = s.explainEviction(job)
}

func startsNever() *v1alpha1.Eviction {
	return &v1alpha1.Eviction{Message: "Nobody is evicted for it: it could not start even if nobody else had anything"}
}

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
		return startsNever()
	}
	if cannot, _ := s.Elastic.CannotReclaim(job); cannot != nil {
		return &v1alpha1.Eviction{Rule: string(eviction.Reclaim), Message: cannot.Message()}
	}
	return &v1alpha1.Eviction{Message: "Nobody is evicted for it: " + s.whyNoVictims(job)}
}

// whyNoVictims says for both rules why they evict nobody for a job whose queue deserves no more.
func (s *Session) whyNoVictims(job *api.JobInfo) string {
	back := fmt.Sprintf("queue <%s> deserves no more of what it lacks", job.Queue)
	if !conf.EnabledActionMap[string(eviction.Reclaim)] {
		back = "the action reclaim, which takes from other queues, is not configured"
	}
	queue, found := s.Snapshot.Ledger.Queue(string(job.Queue))
	asked := devicesAndCards(s.Snapshot, anyOf(job.TaskStatusIndex[api.Pending]))
	if !found || len(asked) == 0 {
		return back
	}
	from, _ := s.Checks.Takings(s.Checks.Ask(queue, job))
	return back + ", and " + s.heldByLower(from, asked[0])
}

// whyNotAsking says why a job does not ask for the room of other pods. It is empty if the job asks.
func (s *Session) whyNotAsking(job *api.JobInfo) string {
	if !s.Placements.EvictsTogether(job) {
		return "The job asks for no devices and no limited cards: Volcano's own actions decide whether others are evicted for it"
	}
	if missing := s.Checks.NotReady(); missing != nil {
		return "Nobody is evicted before the scheduler knows everything: " + missing.Message()
	}
	if !hypernodes.Known(s.Volcano, job) {
		return "Nobody is evicted for a job whose network topology names a tier that no HyperNode has"
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
		other := s.Volcano.Jobs[victim.Job]
		holder, holds := described.Holder(other, victim.TaskInfo)
		if !holds {
			holder = v1alpha1.Holder{Object: describe.Object("Pod", &victim.Pod.ObjectMeta), Node: victim.NodeName, State: v1alpha1.IsReleasing}
			if other != nil {
				holder.Queue, holder.Workload = s.Elastic.ChargedQueue(victim.TaskInfo), other.Name
			}
		}
		told.Victims = append(told.Victims, holder)
	}
	where := ""
	if plan.HyperNode != "" {
		where = fmt.Sprintf(" in HyperNode <%s>", plan.HyperNode)
	}
	told.Message = fmt.Sprintf("<%d> pods would be evicted, so that <%d> pods of the job can start%s", len(plan.Victims), len(plan.Pods), where)
	if len(plan.Victims) == 0 {
		told.Message = fmt.Sprintf("<%d> pods of the job can start%s as soon as others have left", len(plan.Pods), where)
	}
	return told
}

// neverFits says that a job asks for more than a queue may have even without other holders. It is empty if the job asks for less.
func neverFits(refused *ledger.Refusal) string {
	if !refused.TooLarge() {
		return ""
	}
	usable, _ := refused.Limit.Sub(refused.Guaranteed) // TooLarge excludes an overflow
	format := refused.Dimension.Format
	return fmt.Sprintf("that would not help, because it needs <%s> of <%s>, and queue <%s> may have <%s> in all", format(refused.Requested), refused.Dimension, refused.Queue, format(usable))
}

// noRight says which right to the room of other jobs is missing. from is what the configured actions could take.
func (s *Session) noRight(from ledger.Takings, no *ledger.NoRight) string {
	books, dimension := s.Snapshot.Ledger, s.Snapshot.Dimensions.Dimension(no.Dimension)
	full, taker := books.Name(no.Full), books.Name(no.Taker)
	switch {
	case no.Full == no.Taker:
		return fmt.Sprintf("queue <%s> itself has no room for <%s>, and reclaim takes from other queues only; %s", full, dimension, s.heldByLower(from, no.Dimension))
	case !from.Back:
		return fmt.Sprintf("queue <%s> has no room for <%s>, and the action reclaim, which takes from other queues, is not configured; %s", full, dimension, s.heldByLower(from, no.Dimension))
	case !no.Target.Set:
		return fmt.Sprintf("queue <%s> has no room for <%s>, and queue <%s> deserves none of it: set what it deserves", full, dimension, taker)
	default:
		return fmt.Sprintf("queue <%s> has no room for <%s>, and queue <%s>, which would come to <%s>, deserves <%s> of it", full, dimension, taker,
			dimension.Format(no.WouldBe), dimension.Format(no.Target.Amount))
	}
}

// heldByLower says what preempt could take for a job.
func (s *Session) heldByLower(from ledger.Takings, o ledger.Ordinal) string {
	spare := from.Spare.Of(o)
	switch {
	case !preempts():
		return "the action preempt, which takes from jobs of lower priority in the queue, is not configured"
	case spare.Sign() <= 0:
		return "no job of lower priority in the queue holds any that may be preempted"
	default:
		return fmt.Sprintf("jobs of lower priority in the queue hold <%s> that may be preempted, which is not enough", s.Snapshot.Dimensions.Dimension(o).Format(spare))
	}
}

// preempts reports whether the action preempt is configured.
func preempts() bool { return conf.EnabledActionMap[string(eviction.Preempt)] }

// noTakings says why no action could take anything.
func noTakings() string {
	if preempts() {
		return "no job of lower priority in the queue holds anything that may be preempted, and the action reclaim is not configured"
	}
	return "the scheduler's configuration has neither the action reclaim nor the action preempt"
}

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
	if !s.Checks.EvictsTogether(ask) {
		return "it asks for no devices and no limited cards, and waits until there is room for it"
	}
	refused, err := s.Snapshot.FitsInqueue(ask.Queue, ask.Needs)
	if err != nil || refused == nil {
		return "what it needs cannot be counted"
	}
	if never := neverFits(refused); never != "" {
		return never
	}
	from, takes := s.Checks.Takings(ask)
	if !takes {
		return noTakings()
	}
	no, _ := s.Checks.Right(ask, from)
	if no == nil {
		return "what it needs cannot be counted"
	}
	return s.noRight(from, no)
}
