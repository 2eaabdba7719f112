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
	"github.com/devicequota/devicequota/pkg/refusals"
)

// Workloads returns the workloads that have not ended, oldest first. charged is what the jobs of the session are charged. withoutQueue are
// workloads that the session does not have.
func (s *Session) Workloads(charged map[api.JobID]ledger.Amounts, withoutQueue []report.WithoutQueue) []v1alpha1.Workload {
	var workloads []v1alpha1.Workload
	for id, job := range s.Snapshot.Jobs {
		if job.PodGroup == nil || job.PodGroup.Status.Phase == scheduling.PodGroupCompleted {
			continue
		}
		workloads = append(workloads, s.workload(job, charged[id]))
	}
	for i := range withoutQueue {
		if withoutQueue[i].Waits() {
			workloads = append(workloads, workloadWithoutQueue(&withoutQueue[i]))
		}
	}
	slices.SortFunc(workloads, func(a, b v1alpha1.Workload) int {
		return cmp.Or(a.Created.Compare(b.Created.Time), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
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

// workloadWithoutQueue describes a workload that waits because its queue does not exist.
func workloadWithoutQueue(s *report.WithoutQueue) v1alpha1.Workload {
	group := s.Group
	workload := v1alpha1.Workload{
		Namespace: group.Namespace, Name: group.Name, UID: string(group.UID), Queue: group.Spec.Queue, Phase: string(group.Status.Phase),
		MinMember: group.Spec.MinMember, Created: group.CreationTimestamp, Owner: Owner(group),
		Waits: Refusal(refusals.QueueMissing{Queue: group.Spec.Queue}),
	}
	if len(s.Pods) > 0 {
		workload.Pods = map[string]int32{api.Pending.String(): int32(len(s.Pods))}
	}
	return workload
}
