// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// accountJob accounts the request of a job, its missing minimum, and its elastic part. It returns the needs for devices
// and cards that leave a choice. These are accounted last.
func (s *Snapshot) accountJob(job *api.JobInfo, u usage) (open demand.Needs) {
	l := &s.lists
	l.minimum, _ = s.minimum(job, l.minimum[:0])
	elastic := u.allocated.Beyond(l.minimum, l.elastic[:0])
	inqueue := l.inqueue[:0]
	if reserves(job, u.running) {
		l.missing = l.minimum.Beyond(demand.Sum(u.elsewhere, u.allocated), l.missing[:0])
		inqueue = l.missing.Beyond(u.gated, inqueue)
	}
	l.elastic, l.inqueue = elastic, inqueue
	if u.needsPods(job) {
		pods := s.podsOf(job)
		elastic = demand.Sum(elastic, pods.Elastic)
		u.request = demand.Sum(u.request, pods.Request)
		if reserves(job, u.running) {
			needs, err := s.jobNeeds(job, pods)
			if err != nil {
				klog.V(3).InfoS("The devices of a job are not counted", "job", klog.KRef(job.Namespace, job.Name), "reason", err.Error())
			}
			inqueue, open = demand.Sum(inqueue, needs.Amounts), needs
		}
	}
	if len(job.Tasks) == 0 {
		u.request = demand.Sum(u.request, s.notedNeeds[job.UID])
	}
	s.account(job, u.queue, ledger.Request, u.request)
	s.account(job, u.queue, ledger.Elastic, elastic)
	s.account(job, u.queue, ledger.Inqueue, inqueue)
	return open
}

// accountOpen accounts the devices and cards that a job may choose among. The job gets its preferred ones as far as
// there is room. All other needs must have been accounted before.
func (s *Snapshot) accountOpen(job *api.JobInfo, queue ledger.QueueID, needs demand.Needs) {
	if len(needs.Choices) > 0 {
		divided, err := demand.Divide(s.Ledger, queue, needs.Choices)
		if err != nil {
			klog.ErrorS(err, "Failed to account the devices that a job may choose among", "job", klog.KRef(job.Namespace, job.Name))
		}
		s.account(job, queue, ledger.Inqueue, divided)
	}
	if len(needs.Splits) == 0 {
		return
	}
	divided, refusal, err := s.Ledger.FitsInqueueSplit(queue, nil, needs.Splits)
	if refusal != nil || err != nil {
		// The quota was lowered after the job was admitted.
		divided = firstChoices(needs.Splits)
	}
	s.account(job, queue, ledger.Inqueue, divided)
}

func (s *Snapshot) account(job *api.JobInfo, queue ledger.QueueID, account ledger.Account, amounts ledger.Amounts) {
	if err := s.Ledger.Add(queue, account, amounts); err != nil {
		klog.ErrorS(err, "Failed to account a job", "job", klog.KRef(job.Namespace, job.Name))
	}
}

// reserves reports whether the missing part of a job's minimum is kept for it. This holds if the job was admitted, or runs
// with enough pods. Nothing is kept for a job that continues with too few pods, for example after its driver has ended.
func reserves(job *api.JobInfo, running int) bool {
	switch job.PodGroup.Status.Phase {
	case scheduling.PodGroupInqueue:
		return true
	case scheduling.PodGroupRunning:
		return job.PodGroup.Spec.MinResources != nil && running >= int(job.PodGroup.Spec.MinMember)
	default:
		return false
	}
}

func isOngoing(job *api.JobInfo) bool {
	return job.PodGroup.Status.Phase != scheduling.PodGroupCompleted
}
