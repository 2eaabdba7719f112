// SPDX-License-Identifier: Apache-2.0

// Package checks decides whether a queue accepts a pod, and whether it admits a job. Each check is one reason to refuse. The
// scheduler and its explanations make the same checks.
package checks

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// Quota is the name of the check whose answer changes when other pods go.
const Quota = "Quota"

// Session makes the checks of one session.
type Session struct {
	Snapshot *snapshot.Snapshot
	// DevicesNotReady and CardsNotReady say why devices or limited cards cannot be allocated in this session. They are nil if they can.
	DevicesNotReady, CardsNotReady *report.NotReady
	// QuotasRead says that the quotas of all queues are known.
	QuotasRead bool
	// Jobs are the jobs of the session. WholeGangs says that gangs may be evicted whole.
	Jobs       map[api.JobID]*api.JobInfo
	WholeGangs bool
	// GangEvictions says that evictions are planned for each job as a whole.
	GangEvictions bool
	// Nodes are the nodes of the session.
	Nodes []*api.NodeInfo
	// MostDevices returns the most devices of a class that one node can reach, zero if that is not known. It is nil if devices are not read.
	MostDevices func(class string) int64

	// largestNodes has the most that a node has of each refused resource, as a ledger.Amount by corev1.ResourceName.
	largestNodes sync.Map
	// selected has what noneSelected says of each selector.
	selected sync.Map
	// held has what the preemptable pods of each priority hold, by queue. It is nil until needed.
	held map[ledger.QueueID]map[int32]ledger.Amounts
	// awaiting has the refusals of pods that are promised the room of pods that are being deleted.
	awaiting map[types.UID]report.Refusal
	// jobsAwaiting has the same refusals by job.
	jobsAwaiting map[api.JobID]report.Refusal
	// onlyAwaits has the answers of OnlyReleasing by job: whether the job waits for nothing else.
	onlyAwaits map[api.JobID]bool
	// minimumFits has the answers of canStart.
	minimumFits map[api.JobID]bool
}

// NotReady returns why the scheduler decides nothing about devices or cards, nil if it does.
func (s *Session) NotReady() *report.NotReady {
	if s.DevicesNotReady != nil {
		return s.DevicesNotReady
	}
	return s.CardsNotReady
}

// BindingFailed refuses a pod for a while after its binding failed.
func (s *Session) BindingFailed(task *api.TaskInfo) report.Refusal {
	if s.Snapshot.HasFailed(task.Pod.UID) {
		return report.BindingFailed{}
	}
	return nil
}

// Result is the answer of one check. The refusal is nil if the check passes.
type Result struct {
	Name    string
	Refusal report.Refusal
}

// Exceeded explains a refusal of the ledger for a pod that may choose among cards.
func (s *Session) Exceeded(queue ledger.QueueID, pod *demand.Pod, refused *ledger.Refusal, state cards.State) report.Refusal {
	refused, others := state.Explain(pod, refused)
	return s.Snapshot.RefuseCards(queue, refused, others)
}

// refuseCards refuses limited cards while their use or the quotas are unknown.
func (s *Session) refuseCards(queue ledger.QueueID) report.Refusal {
	if s.CardsNotReady != nil && s.Snapshot.Ledger.ListsCards(queue) {
		return s.CardsNotReady
	}
	if notReady := s.Snapshot.CardQuotaNotReady(queue); notReady != nil {
		return notReady
	}
	return nil
}
