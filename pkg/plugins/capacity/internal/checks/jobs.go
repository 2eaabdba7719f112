// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/helpers"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/demand/requests"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// JobAsk is a job that asks to be admitted to its queue.
type JobAsk struct {
	Job   *api.JobInfo
	Queue ledger.QueueID
	// Needs is what the job needs at least. Uncounted says why its devices are not included.
	Needs     demand.Needs
	Uncounted error
}

// Ask returns what a job asks of its queue.
func (s *Session) Ask(queue ledger.QueueID, job *api.JobInfo) JobAsk {
	ask := JobAsk{Job: job, Queue: queue}
	ask.Needs, ask.Uncounted = s.Snapshot.Needs(job)
	return ask
}

// jobCheck is one reason for which a queue may refuse a job.
type jobCheck struct {
	name string
	// refuse returns nil if the job passes.
	refuse func(*Session, JobAsk) report.Refusal
}

// jobChecks are made in this order. The first refusal is the answer.
var jobChecks = []jobCheck{
	{"Sharers", (*Session).jobSharers},
	{"DevicesReady", (*Session).jobDevicesReady},
	{"Countable", (*Session).jobCountable},
	{"CardsReady", (*Session).jobCardsReady},
	{"DevicesListed", (*Session).jobDevicesListed},
	{Quota, (*Session).jobQuota},
	{"ResourcesKnown", (*Session).jobResourcesKnown},
}

// Job returns the first check that refuses a job. Its refusal is nil if none does.
func (s *Session) Job(ask JobAsk) Result {
	for _, check := range jobChecks {
		if refusal := check.refuse(s, ask); refusal != nil {
			return Result{check.name, refusal}
		}
	}
	return Result{}
}

// EachOfJob makes the checks of a job up to the first that refuses it. Those after that have no refusal.
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

// PodsUnread reports whether a job has pods that the scheduler has not read yet. Volcano's controllers make a PodGroup for pods that
// others create, and name it in the pods' annotations after that. Only the pods say which devices and cards the job needs. The PodGroup
// of a Volcano Job that is called podgroup has such a name, too, and the pods of that job are created only when it has been let in.
func PodsUnread(job *api.JobInfo) bool {
	owner := metav1.GetControllerOf(&job.PodGroup.PodGroup)
	return len(job.Tasks) == 0 && owner != nil && job.PodGroup.Name == batchv1alpha1.PodgroupNamePrefix+string(owner.UID) &&
		schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() != helpers.JobKind.GroupKind()
}

// jobSharers refuses a job that can never start, whether or not devices are limited: too many of its pods share a claim.
func (s *Session) jobSharers(ask JobAsk) report.Refusal {
	if !ask.Needs.Devices && ask.Uncounted == nil {
		return nil
	}
	if err := s.Snapshot.CheckSharers(ask.Job); err != nil {
		return report.Unplaceable{Err: err}
	}
	return nil
}

// jobDevicesReady refuses devices, where they are limited, while it is not known which are in use, or what the quotas are. A job
// that is let in stays so.
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

// jobCountable refuses a job whose devices cannot be counted where devices are limited, and a job that says
// something invalid of its cards, or needs more of a resource than can be counted.
func (s *Session) jobCountable(ask JobAsk) report.Refusal {
	invalid := errors.As(ask.Uncounted, new(demand.CardsError)) || errors.As(ask.Uncounted, new(*requests.UncountableError))
	if ask.Uncounted == nil || !invalid && !s.Snapshot.LimitsDevices(ask.Queue) {
		return nil
	}
	return report.Uncountable{Err: ask.Uncounted}
}

// jobResourcesKnown refuses a job that needs a resource which nobody offers.
func (s *Session) jobResourcesKnown(ask JobAsk) report.Refusal {
	if ask.Needs.Unknown.Resource == "" {
		return nil
	}
	return report.ResourceUnknown{UnknownResourceError: ask.Needs.Unknown, Queue: s.Snapshot.Top(ask.Queue)}
}

// jobCardsReady refuses cards while it is not known which are in use, or what the quotas are.
func (s *Session) jobCardsReady(ask JobAsk) report.Refusal {
	if !ask.Needs.Cards {
		return nil
	}
	return s.refuseCards(ask.Queue)
}

// jobDevicesListed refuses devices where no queue on the way to the root lists any class, if that is required.
func (s *Session) jobDevicesListed(ask JobAsk) report.Refusal {
	return s.Snapshot.RefuseUnlistedJob(ask.Queue, ask.Needs)
}

// jobQuota refuses a job whose minimum the queue or an ancestor has no room for.
func (s *Session) jobQuota(ask JobAsk) report.Refusal {
	refused, err := s.Snapshot.FitsInqueue(ask.Queue, ask.Needs)
	switch {
	case err != nil:
		return report.Uncountable{Err: err}
	case refused != nil && !s.admitsWithReclaim(ask):
		return s.Snapshot.Refuse(ask.Queue, refused)
	default:
		return nil
	}
}
