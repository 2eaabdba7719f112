// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"cmp"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/helpers"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/demand/requests"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// JobAsk is a job that asks to be admitted to its queue.
type JobAsk struct {
	Job   *api.JobInfo
	Queue ledger.QueueID
	// Needs is the minimum of the job. Uncounted says why its devices are not included.
	Needs     demand.Needs
	Uncounted error
}

// Ask returns what a job asks of its queue.
func (s *Session) Ask(queue ledger.QueueID, job *api.JobInfo) JobAsk {
	ask := JobAsk{Job: job, Queue: queue}
	ask.Needs, ask.Uncounted = s.Snapshot.Needs(job)
	return ask
}

// jobCheck is one reason for a queue to refuse a job.
type jobCheck struct {
	name string
	// refuse returns nil if the job passes.
	refuse func(*Session, JobAsk) report.Refusal
}

// jobChecks are made in this order. The first refusal is the answer.
var jobChecks = []jobCheck{
	{"Scheduler", (*Session).jobScheduler},
	{"Sharers", (*Session).jobSharers},
	{"DevicesReady", (*Session).jobDevicesReady},
	{"Countable", (*Session).jobCountable},
	{"CardsReady", (*Session).jobCardsReady},
	{"DevicesListed", (*Session).jobDevicesListed},
	{Quota, (*Session).jobQuota},
	{"ResourcesKnown", (*Session).jobResourcesKnown},
}

// Job returns the first check that refuses a job. Without a refusal, the result is empty.
func (s *Session) Job(ask JobAsk) Result {
	for _, check := range jobChecks {
		if refusal := check.refuse(s, ask); refusal != nil {
			return Result{check.name, refusal}
		}
	}
	return Result{}
}

// EachOfJob lists all checks of a job. Only the first check that refuses the job has a refusal.
func (s *Session) EachOfJob(ask JobAsk) []Result {
	first, results := s.Job(ask), make([]Result, len(jobChecks))
	for i, check := range jobChecks {
		results[i].Name = check.name
		if check.name == first.Name {
			results[i].Refusal = first.Refusal
		}
	}
	return results
}

// PodsUnread reports whether the scheduler has not read the pods of a job yet. Volcano's controllers create a PodGroup for pods of
// other owners, and only then name it in the pods' annotations. Only the pods say which devices and cards the job needs. The PodGroup
// of a Volcano Job named podgroup has such a name, too. The pods of that job are created only after its admission.
func PodsUnread(job *api.JobInfo) bool {
	owner := metav1.GetControllerOf(&job.PodGroup.PodGroup)
	return len(job.Tasks) == 0 && owner != nil && job.PodGroup.Name == batchv1alpha1.PodgroupNamePrefix+string(owner.UID) &&
		schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() != helpers.JobKind.GroupKind()
}

// jobScheduler refuses a job whose pods will be for another scheduler. It would hold what it needs, and never start here.
func (s *Session) jobScheduler(ask JobAsk) report.Refusal {
	return s.Snapshot.OtherSchedulerOf(ask.Job)
}

// jobSharers refuses a job that can never start because too many of its pods share a claim. It does so even if devices are not limited.
func (s *Session) jobSharers(ask JobAsk) report.Refusal {
	if !ask.Needs.Devices && ask.Uncounted == nil {
		return nil
	}
	if err := s.Snapshot.CheckSharers(ask.Job); err != nil {
		return report.Unplaceable{Err: err}
	}
	return nil
}

// jobDevicesReady refuses limited devices while their use or the quotas are unknown. An admitted job stays admitted.
func (s *Session) jobDevicesReady(ask JobAsk) report.Refusal {
	if !ask.Needs.Devices && ask.Uncounted == nil {
		return nil
	}
	if notReady := s.Snapshot.DeviceQuotaNotReady(ask.Queue); notReady != nil {
		return notReady
	}
	if s.DevicesNotReady != nil && (!s.QuotasRead || s.Snapshot.LimitsDevices(ask.Queue)) {
		return s.DevicesNotReady
	}
	return nil
}

// jobCountable refuses a job whose devices cannot be counted, if they are limited. It also refuses invalid card
// requests, and more of a resource than can be counted.
func (s *Session) jobCountable(ask JobAsk) report.Refusal {
	invalid := errors.As(ask.Uncounted, new(demand.CardsError)) || errors.As(ask.Uncounted, new(*requests.UncountableError))
	if ask.Uncounted == nil || !invalid && !s.Snapshot.LimitsDevices(ask.Queue) {
		return nil
	}
	return report.Uncountable{Err: ask.Uncounted}
}

// jobResourcesKnown refuses a job that needs a resource that no node offers.
func (s *Session) jobResourcesKnown(ask JobAsk) report.Refusal {
	if ask.Needs.Unknown.Resource == "" {
		return nil
	}
	return report.ResourceUnknown{UnknownResourceError: ask.Needs.Unknown, Queue: s.Snapshot.Top(ask.Queue)}
}

// jobCardsReady refuses cards while their use or the quotas are unknown.
func (s *Session) jobCardsReady(ask JobAsk) report.Refusal {
	if !ask.Needs.Cards {
		return nil
	}
	return s.refuseCards(ask.Queue)
}

// jobDevicesListed refuses devices if a listed class is required, but no queue on the way to the root lists any class.
func (s *Session) jobDevicesListed(ask JobAsk) report.Refusal {
	return s.Snapshot.RefuseUnlistedJob(ask.Queue, ask.Needs)
}

// jobQuota refuses a job if the queue or an ancestor has no room for its minimum, unless admitsWithReclaim admits it.
func (s *Session) jobQuota(ask JobAsk) report.Refusal {
	refused, err := s.Snapshot.FitsInqueue(ask.Queue, ask.Needs)
	switch {
	case err != nil:
		return report.Uncountable{Err: err}
	case refused != nil && !s.admitsWithReclaim(ask):
		return withNodes(s.Snapshot.Refuse(ask.Queue, refused), s.noNode(ask.Needs.Amounts, int64(ask.Job.MinAvailable), s.Snapshot.NodeSelectors(ask.Job)))
	default:
		return nil
	}
}

// admitsWithReclaim reports whether a job for which evictions are planned as a whole is admitted although there is no room for it. It may
// take what its queue deserves from other queues, or room from jobs of lower priority in its queue. Without admission, it would never
// reach the actions that evict for it. Upstream lets such jobs wait.
func (s *Session) admitsWithReclaim(ask JobAsk) bool {
	if !s.EvictsTogether(ask) {
		return false
	}
	from, takes := s.Takings(ask)
	if !takes {
		return false
	}
	_, may := s.Right(ask, from)
	return may
}

// EvictsTogether reports whether evictions are planned as a whole for a job that asks its queue.
func (s *Session) EvictsTogether(ask JobAsk) bool {
	return s.GangEvictions || ask.Needs.Any || ask.Needs.Cards
}

// Takings returns what the configured actions could take from other jobs. takes is false if that is nothing.
func (s *Session) Takings(ask JobAsk) (from ledger.Takings, takes bool) {
	from.Back = conf.EnabledActionMap[string(eviction.Reclaim)]
	if conf.EnabledActionMap[string(eviction.Preempt)] {
		from.Spare = s.heldBelow(ask)
	}
	return from, from.Back || from.Spare != nil
}

// Right reports whether a job may take the room that it needs, with some combination of its alternatives. If not, first says why the first
// combination may not. It is nil if no combination can be counted.
func (s *Session) Right(ask JobAsk, from ledger.Takings) (first *ledger.NoRight, may bool) {
	may = ask.Needs.AnyCombination(func(minimum ledger.Amounts) bool {
		no := s.Snapshot.Ledger.WhyNoRight(ask.Queue, minimum, from)
		first = cmp.Or(first, no)
		return no == nil
	})
	return first, may
}

// heldBelow sums up what jobs of lower priority hold in the queue.
func (s *Session) heldBelow(ask JobAsk) ledger.Amounts {
	if s.held == nil {
		s.held = map[ledger.QueueID]map[int32]ledger.Amounts{}
	}
	if s.held[ask.Queue] == nil {
		s.held[ask.Queue] = s.heldByPriority(ask.Queue)
	}
	var sum ledger.Amounts
	for priority, held := range s.held[ask.Queue] {
		if priority >= ask.Job.Priority {
			continue
		}
		if total, err := sum.PlusAll(held); err == nil {
			sum = total
		}
	}
	return sum
}

func (s *Session) heldByPriority(queue ledger.QueueID) map[int32]ledger.Amounts {
	sums := map[int32]ledger.Amounts{}
	for _, job := range s.Jobs {
		if !eviction.MayLose(job, s.WholeGangs) {
			continue
		}
		for status, tasks := range job.TaskStatusIndex {
			if !api.PreemptableStatus(status) {
				continue
			}
			for _, task := range tasks {
				pod := s.Snapshot.Known(task.Pod)
				if pod == nil || !task.Preemptable || !pod.InLedger || pod.Queue != queue {
					continue
				}
				if total, err := sums[job.Priority].PlusAll(s.Snapshot.Ledger.Frees(snapshot.HolderOf(task), pod.Demand)); err == nil {
					sums[job.Priority] = total
				}
			}
		}
	}
	return sums
}
