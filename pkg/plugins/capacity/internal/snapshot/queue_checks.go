// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// QueueFor returns the queue of a pod, or why the queue accepts no pods. It looks the queue up only if the pod is not known to be in it.
func (s *Snapshot) QueueFor(pod *demand.Pod, info *api.QueueInfo) (ledger.QueueID, report.Refusal) {
	if queue := pod.Queue; pod.InLedger && s.Ledger.Name(queue) == info.Name && s.Ledger.Leaf(queue) && isOpen(info) {
		return queue, nil
	}
	return s.Queue(info)
}

// Queue returns a queue, or why it accepts no pods.
func (s *Snapshot) Queue(info *api.QueueInfo) (ledger.QueueID, report.Refusal) {
	return refusals.TakesPods(s.Ledger, s.misplaced, info.Name, string(info.Queue.Status.State))
}

// Top returns the name of the topmost queue on the way from a queue. It limits what the cluster has.
func (s *Snapshot) Top(queue ledger.QueueID) string {
	path := s.Ledger.Path(queue)
	return path[len(path)-1]
}

func isOpen(info *api.QueueInfo) bool {
	return info.Queue.Status.State == scheduling.QueueStateOpen
}

// LimitsDevices reports whether the queue or an ancestor limits devices or cards, or must do so.
func (s *Snapshot) LimitsDevices(queue ledger.QueueID) bool {
	return s.DeviceQuotaRequired || s.limitsDevices(queue) || s.Ledger.ListsCards(queue)
}

// Refuse explains a refusal of the ledger for a pod or job of a queue.
func (s *Snapshot) Refuse(queue ledger.QueueID, refusal *ledger.Refusal) report.Refusal {
	return s.RefuseCards(queue, refusal, nil)
}

// RefuseCards explains a refusal of the ledger for a pod that accepts other cards as well, if these have no quota either.
func (s *Snapshot) RefuseCards(queue ledger.QueueID, refusal *ledger.Refusal, others []string) report.Refusal {
	hasCardQuota := func(name string) bool { return s.queues[name].listsCards }
	return report.QuotaExceeded{OtherCards: others, Quota: refusals.Quota{
		Refusal:       refusal,
		NoCardQuota:   refusal.Dimension.Kind == ledger.Card && !slices.ContainsFunc(s.Ledger.Path(queue), hasCardQuota),
		NoDeviceQuota: s.noDeviceQuota(queue, refusal.Dimension),
	}}
}
