// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// missing is the missing part of a job's minimum, which is kept for the job.
type missing struct {
	job   *api.JobInfo
	queue ledger.QueueID
	needs demand.Needs
}

// accountJob accounts the request and the elastic part of a job. It appends what is to be kept for its missing minimum.
func (s *Snapshot) accountJob(list []missing, u usage) []missing {
	job, l := u.job, &s.lists
	l.minimum, _ = s.minimum(job, l.minimum[:0])
	l.elastic = u.allocated.Beyond(l.minimum, l.elastic[:0])
	elastic := l.elastic
	var either ledger.Amounts
	keeps, needs := keepsMinimum(job, u.running), demand.Needs{}
	if keeps {
		l.missing = l.minimum.Beyond(demand.Sum(u.elsewhere, u.allocated), l.missing[:0])
		needs.Amounts = l.missing.Beyond(u.gated, nil)
	}
	if u.needsPods() {
		pods := s.podsOf(job)
		elastic = demand.Sum(elastic, pods.Elastic)
		u.request, either = demand.Sum(u.request, pods.Request), pods.Either
		if keeps {
			devices, err := s.jobNeeds(job, pods)
			if err != nil {
				klog.V(3).InfoS("The devices of a job are not counted", "job", klog.KRef(job.Namespace, job.Name), "reason", err.Error())
			}
			devices.Amounts = demand.Sum(needs.Amounts, devices.Amounts)
			needs = devices
		}
	}
	if len(job.Tasks) == 0 {
		u.request, either = demand.Sum(u.request, s.notedNeeds[job.UID].amounts), s.notedNeeds[job.UID].either
	}
	s.account(job, u.queue, ledger.Request, u.request)
	s.account(job, u.queue, ledger.Either, either)
	s.account(job, u.queue, ledger.Elastic, elastic)
	if len(needs.Amounts)+len(needs.Choices)+len(needs.Splits) == 0 {
		return list
	}
	return append(list, missing{job, u.queue, needs})
}

// accountMissing accounts what jobs still need, oldest first, after everything in use. Devices and cards that a job may choose among come last,
// because they depend on what all other jobs have.
func (s *Snapshot) accountMissing(all []missing) {
	slices.SortFunc(all, func(a, b missing) int {
		return cmp.Or(a.job.CreationTimestamp.Compare(b.job.CreationTimestamp.Time), strings.Compare(string(a.job.UID), string(b.job.UID)))
	})
	for _, m := range all {
		s.account(m.job, m.queue, ledger.Inqueue, m.needs.Amounts)
	}
	for _, m := range all {
		s.accountOpen(m)
	}
}

// accountOpen accounts the devices and cards that a job may choose among. The job gets its preferred ones as far as there is room.
func (s *Snapshot) accountOpen(m missing) {
	if len(m.needs.Choices) > 0 {
		divided, err := demand.Divide(s.Ledger, m.queue, m.needs.Choices)
		if err != nil {
			klog.ErrorS(err, "Failed to account the devices that a job may choose among", "job", klog.KRef(m.job.Namespace, m.job.Name))
		}
		s.account(m.job, m.queue, ledger.Inqueue, divided)
	}
	if len(m.needs.Splits) == 0 {
		return
	}
	divided, refusal, err := s.Ledger.FitsInqueueSplit(m.queue, nil, m.needs.Splits)
	if refusal != nil || err != nil {
		// The quota was lowered after the job was admitted.
		divided = firstChoices(m.needs.Splits)
	}
	s.account(m.job, m.queue, ledger.Inqueue, divided)
}

func (s *Snapshot) account(job *api.JobInfo, queue ledger.QueueID, account ledger.Account, amounts ledger.Amounts) {
	if err := s.Ledger.Add(queue, account, amounts); err != nil {
		klog.ErrorS(err, "Failed to account a job", "job", klog.KRef(job.Namespace, job.Name))
	}
}

// firstChoices returns the sum of splits if all shares use the preferred dimension.
func firstChoices(splits []ledger.Split) ledger.Amounts {
	var amounts ledger.Amounts
	for _, split := range splits {
		if all, err := ledger.Units(split.Each).Times(split.Shares); err == nil {
			amounts = demand.Sum(amounts, ledger.Amounts{{Dimension: split.Among[0], Amount: all}})
		}
	}
	return amounts
}

// keepsMinimum reports whether the missing part of a job's minimum is kept for it. This holds if the job was admitted, or runs
// with enough pods. Nothing is kept for a job that continues with too few pods, for example after its driver has ended.
func keepsMinimum(job *api.JobInfo, running int) bool {
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
