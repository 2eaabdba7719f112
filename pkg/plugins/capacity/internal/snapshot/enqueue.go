// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// FitsInqueue says why a queue has no room for what a job needs at least, nil if it has.
func (s *Snapshot) FitsInqueue(queue ledger.QueueID, needs demand.Needs) (*ledger.Refusal, error) {
	amounts := needs.Amounts
	if s.Options().CardUnlimitedCPUMemory && needs.Any {
		amounts = s.Resources.WithoutCPUMemory(amounts)
	}
	refusal, err := s.Ledger.FitsInqueue(queue, amounts)
	for i := 0; i < len(needs.Choices) && refusal == nil && err == nil; i++ {
		refusal, err = s.fitsChoice(queue, amounts, needs.Choices[i])
	}
	if refusal == nil && err == nil {
		_, refusal, err = s.Ledger.FitsInqueueSplit(queue, amounts, needs.Splits)
	}
	return refusal, err
}

// fitsChoice says why the alternatives of a choice have no room for all pods that choose, all alternatives together. The
// answer is exact if the alternatives are of different classes, as they mostly are, and nobody else
// chooses among the same. Otherwise, it may admit a job whose pods have to wait.
func (s *Snapshot) fitsChoice(queue ledger.QueueID, amounts ledger.Amounts, choice demand.Choice) (*ledger.Refusal, error) {
	left := choice.Pods
	last := len(choice.Alternatives) - 1
	for _, alternative := range choice.Alternatives[:last] {
		room, err := s.Ledger.RoomInqueue(queue, amounts, alternative, left)
		if err != nil {
			return nil, err
		}
		left -= room
	}
	return s.Ledger.FitsInqueueTimes(queue, amounts, choice.Alternatives[last], left)
}

// Enqueue accounts a job that has been admitted.
func (s *Snapshot) Enqueue(job *api.JobInfo) {
	queue, found := s.Ledger.Queue(string(job.Queue))
	if !found {
		return
	}
	var gated ledger.Amounts
	for _, task := range job.Tasks {
		if task.SchGated {
			gated = plusPart(gated, &s.refresh(task).Resources)
		}
	}
	needs, err := s.Needs(job)
	if err != nil {
		klog.V(3).InfoS("A job is admitted without its devices being counted", "job", klog.KRef(job.Namespace, job.Name), "reason", err.Error())
	}
	s.account(job, queue, ledger.Inqueue, needs.Amounts.Beyond(gated, nil))
	s.accountSplits(job, queue, needs.Splits)
}
