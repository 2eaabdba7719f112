// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"slices"
	"strings"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Workloads returns the workloads that have not ended, oldest first. charged is what the jobs of the session are charged. outsiders are
// workloads that the session does not have.
func (s *Session) Workloads(charged map[api.JobID]ledger.Amounts, outsiders []report.Outsider) []v1alpha1.Workload {
	var workloads []v1alpha1.Workload
	for id, job := range s.Snapshot.Jobs {
		if job.PodGroup == nil || job.PodGroup.Status.Phase == scheduling.PodGroupCompleted {
			continue
		}
		workloads = append(workloads, s.workload(job, charged[id]))
	}
	for i := range outsiders {
		if outsiders[i].Waits() {
			workloads = append(workloads, s.outsideWorkload(&outsiders[i]))
		}
	}
	slices.SortFunc(workloads, func(a, b v1alpha1.Workload) int {
		return cmp.Or(a.Created.Compare(b.Created.Time), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
	})
	return workloads
}

func (s *Session) workload(job *api.JobInfo, charged ledger.Amounts) v1alpha1.Workload {
	group := &job.PodGroup.PodGroup
	workload := v1alpha1.Workload{
		Namespace: group.Namespace, Name: group.Name, UID: string(group.UID), Queue: string(job.Queue), Phase: string(group.Status.Phase),
		Priority: job.Priority, MinMember: group.Spec.MinMember, Created: group.CreationTimestamp,
		Charged: s.Amounts(charged), Waits: s.whyWaits(job), Owner: Owner(group),
	}
	for status, tasks := range job.TaskStatusIndex {
		if len(tasks) == 0 {
			continue
		}
		if workload.Pods == nil {
			workload.Pods = map[string]int32{}
		}
		workload.Pods[status.String()] += int32(len(tasks))
	}
	return workload
}

// Refusal describes a refusal, with its numbers if a quota refuses what a node could have.
func Refusal(refusal report.Refusal) *v1alpha1.Refusal {
	described := &v1alpha1.Refusal{Reason: refusal.Reason(), Message: refusal.Message()}
	if quota := report.RefusedByQuota(refusal); quota != nil && described.Reason != report.NeverFitsReason {
		dimension := Dimension(quota.Dimension)
		described.Queue, described.Dimension = quota.Queue, &dimension
		format := quota.Dimension.Format
		described.Requested, described.WouldBe, described.Limit = format(quota.Requested), format(quota.WouldBe), format(quota.Limit)
	}
	return described
}

// whyWaits returns why a job, or some of its pods, wait. It is nil if none wait, or no reason was given.
func (s *Session) whyWaits(job *api.JobInfo) *v1alpha1.Refusal {
	refusal, task := s.Report.WhyJob(job.UID)
	switch {
	case refusal != nil:
		described := Refusal(refusal)
		if task != nil {
			described.Pods = s.refusedPods(job)
		}
		return described
	case job.IsPending() && len(job.Tasks) == 0:
		if other := s.Snapshot.OtherSchedulerOf(job); other != nil {
			return Refusal(other)
		}
		return nil
	case len(job.TaskStatusIndex[api.Pending]) == 0:
		return nil
	default:
		return unschedulable(job)
	}
}

// unschedulable returns Volcano's reason for a job whose pods wait, nil if it has not tried them.
func unschedulable(job *api.JobInfo) *v1alpha1.Refusal {
	message := ""
	for id := range job.TaskStatusIndex[api.Pending] {
		if nodes := job.NodesFitErrors[id]; nodes != nil && (message == "" || nodes.Error() < message) {
			message = nodes.Error()
		}
	}
	if message = cmp.Or(message, job.JobFitErrors); message == "" {
		return nil
	}
	return &v1alpha1.Refusal{Reason: string(scheduling.PodGroupUnschedulableType), Message: message, Pods: int32(len(job.TaskStatusIndex[api.Pending]))}
}

// refusedPods counts the pods of a job that were refused and still wait.
func (s *Session) refusedPods(job *api.JobInfo) int32 {
	refused := int32(0)
	for _, status := range []api.TaskStatus{api.Pending, api.Pipelined} {
		for id := range job.TaskStatusIndex[status] {
			if s.Report.Refused(id) {
				refused++
			}
		}
	}
	return refused
}
