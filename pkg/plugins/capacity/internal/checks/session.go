// SPDX-License-Identifier: Apache-2.0

// Package checks decides whether a queue takes a pod, and whether it admits a job. Each check is one reason to refuse. The scheduler
// and its explanations make the same checks.
package checks

import (
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
	// DevicesNotReady and CardsNotReady say why no device, or no limited card, can be allocated in this session. They are nil if they
	// can be allocated.
	DevicesNotReady, CardsNotReady *report.NotReady
	// QuotasRead says that the quotas of all queues are known.
	QuotasRead bool
	// Jobs are those of the session. WholeGangs says that gangs may be evicted whole.
	Jobs       map[api.JobID]*api.JobInfo
	WholeGangs bool

	// held has what the jobs of each priority hold that may be preempted, by queue. It is nil until it is needed.
	held map[ledger.QueueID]map[int32]ledger.Amounts
	// awaiting has why the pods wait that have been promised what pods which are being deleted still have.
	awaiting map[types.UID]report.Refusal
	// jobsAwaiting is the same for their jobs.
	jobsAwaiting map[api.JobID]report.Refusal
	// onlyAwaits says of the jobs that were asked about whether they wait for nothing else.
	onlyAwaits map[api.JobID]bool
	// minimumFits has the answers of canStart.
	minimumFits map[api.JobID]bool
}

// NotReady is why the scheduler decides nothing about devices or cards, nil if it does.
func (s *Session) NotReady() *report.NotReady {
	if s.DevicesNotReady != nil {
		return s.DevicesNotReady
	}
	return s.CardsNotReady
}

// Result is the answer of one check. The refusal is nil if it passes.
type Result struct {
	Name    string
	Refusal report.Refusal
}

// Exceeded explains a refusal of the ledger for a pod that may choose among cards.
func (s *Session) Exceeded(queue ledger.QueueID, pod *demand.Pod, refused *ledger.Refusal, state cards.State) report.Refusal {
	refused, others := state.Explain(pod, refused)
	return s.Snapshot.RefuseCards(queue, refused, others)
}

// refuseCards refuses limited cards while it is not known which are in use, or what the quotas are.
func (s *Session) refuseCards(queue ledger.QueueID) report.Refusal {
	if s.CardsNotReady != nil && s.Snapshot.Ledger.ListsCards(queue) {
		return s.CardsNotReady
	}
	if notReady := s.Snapshot.CardQuotaNotReady(queue); notReady != nil {
		return notReady
	}
	return nil
}
