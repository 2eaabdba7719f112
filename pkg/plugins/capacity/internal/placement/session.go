// SPDX-License-Identifier: Apache-2.0

// Package placement decides which nodes suit pods that ask for devices or cards, and ensures that these pods get them there.
package placement

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/cards"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/checks"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/devices"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// Session has the placements of one session.
type Session struct {
	Volcano  *framework.Session
	Snapshot *snapshot.Snapshot
	Checks   *checks.Session
	Cards    *cards.Session
	// Owner is the name under which the plugin joined the session.
	Owner string
	// Devices is nil if the scheduler does not allocate devices.
	Devices *devices.Session
	// Outdated has the nodes that list an extended resource that no class offers any more. It is nil if there are none.
	Outdated map[string]bool

	// current is the pod whose filtering began last. It is only for speed: Volcano filters the nodes of one pod at a time.
	current currentPod
	// asks says which jobs ask for devices or counted cards. It has the jobs asked about so far.
	asks map[api.JobID]bool
	// planned has the nodes of pods that have been chosen together, while these are placed.
	planned map[api.TaskID]string
	// filtered has the placements of pods whose nodes are filtered in this session.
	filtered []*Placement
	// backfilling says that upstream's action backfill runs. backfilled is the job that it came to last.
	backfilling bool
	backfilled  *api.JobInfo
}

// currentPod is a pod and its placements. There are none if the pod asks for neither devices nor cards.
type currentPod struct {
	pod        *corev1.Pod
	placements []*Placement
	// anywhere says that the pod may go to any node, no matter what serves extended resources there.
	anywhere bool
}

// Filtered calls each for the pods whose nodes were filtered in this session.
func (s *Session) Filtered(each func(*api.TaskInfo)) {
	for _, placement := range s.filtered {
		each(placement.task)
	}
}

// EvictsTogether reports whether evictions for a job are planned for the job as a whole. They are if some pod asks for devices, or for cards that its queue
// limits or deserves.
func (s *Session) EvictsTogether(job *api.JobInfo) bool {
	if s.Checks.GangEvictions {
		return true
	}
	asks, known := s.asks[job.UID]
	if known {
		return asks
	}
	for _, task := range job.Tasks {
		pod := s.Snapshot.Known(task.Pod)
		if asks = pod != nil && pod.InLedger && (pod.MayGetDevices() && s.Devices != nil || s.Snapshot.CountsCards(pod)); asks {
			break
		}
	}
	if s.asks == nil {
		s.asks = map[api.JobID]bool{}
	}
	s.asks[job.UID] = asks
	return asks
}

// LimitedCardsOn returns what a pod would be charged for the cards of a node. It is nil if no queue limits its cards, or if
// the cards are already assigned and so part of the checked demand.
func (s *Session) LimitedCardsOn(pod *demand.Pod, node *corev1.Node) *ledger.Part {
	if !s.Snapshot.LimitsCards(pod) || pod.Cards.Assigned() {
		return nil
	}
	return s.Cards.On(pod, node)
}

// CountedCardsOn is LimitedCardsOn that also counts queues that deserve cards without a limit.
func (s *Session) CountedCardsOn(pod *demand.Pod, node *corev1.Node) *ledger.Part {
	if !s.Snapshot.CountsCards(pod) || pod.Cards.Assigned() {
		return nil
	}
	return s.Cards.On(pod, node)
}

// Score scores a node: higher for cards that a pod prefers, lower for devices that recently failed to become ready.
func (s *Session) Score(task *api.TaskInfo, node *api.NodeInfo) float64 {
	pod := s.Snapshot.Known(task.Pod)
	if pod == nil {
		return 0
	}
	variant := pod
	if pod.RequestsExtended() {
		if variant = pod.On(dra.Served(node.Node)); variant == nil {
			return 0
		}
	}
	score := s.Cards.Score(variant, node.Name)
	if position, ok := s.Snapshot.CardPosition(variant); ok {
		score = s.Cards.ScoreOf(position)
	}
	if s.Devices != nil && s.Devices.Scores() {
		if placement := placementFor(s.existing(task), variant); placement != nil && placement.devices != nil {
			score += s.Devices.Score(placement.devices, node.Name)
		}
	}
	return score
}

// DeallocateUnusable takes devices away from claims whose pods could not use them in this session, and from those whose pods wait for some time.
func (s *Session) DeallocateUnusable() {
	if s.Devices == nil {
		return
	}
	for _, placement := range s.filtered {
		id, job := placement.task.UID, s.Volcano.Jobs[placement.task.Job]
		if job == nil || placement.devices == nil || placement.exceeded != nil {
			continue
		}
		if job.TaskStatusIndex[api.Pending][id] != nil && job.NodesFitErrors[id] != nil {
			s.Devices.Deallocate(placement.devices)
		}
	}
	if s.Checks.NotReady() == nil {
		s.Devices.DeallocateIdle(s.waiting, s.Snapshot.WaitsOutside)
	}
}

// waiting yields the pods that wait and ask for devices.
func (s *Session) waiting(yield func(*demand.Pod) bool) {
	for _, job := range s.Volcano.Jobs {
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if pod := s.Snapshot.Known(task.Pod); pod != nil && pod.MayGetDevices() && !yield(pod) {
				return
			}
		}
	}
}

// UnreserveUnbound puts back, when the session closes, the devices reserved for pods that are not being bound.
func (s *Session) UnreserveUnbound() {
	if s.Devices == nil {
		return
	}
	binding := map[types.UID]bool{}
	for _, job := range s.Volcano.Jobs {
		for _, task := range job.TaskStatusIndex[api.Binding] {
			binding[task.Pod.UID] = true
		}
	}
	s.Devices.UnreserveUnbound(func(pod types.UID) bool { return binding[pod] })
}

// Backfill runs upstream's action backfill, which places pods that request no resources. It binds the pods of a job when the job is ready.
// Until then, they have nodes in the session only.
func (s *Session) Backfill(run func()) {
	s.backfilling = true
	run()
	s.UndoIncomplete(nil)
	s.backfilling = false
}

// UndoIncomplete takes their nodes from the pods of the job that backfill placed before this one, if it has less than its minimum. So
// they keep no devices from the next jobs. Backfill places the pods of one job after the other. UndoIncomplete reports whether something has
// changed.
func (s *Session) UndoIncomplete(next *api.JobInfo) bool {
	job := s.backfilled
	if !s.backfilling || job == next {
		return false
	}
	s.backfilled = next
	if job == nil || eviction.MayStart(job) {
		return false
	}
	statement, undone := framework.NewStatement(s.Volcano), false
	for _, task := range job.TaskStatusIndex[api.Allocated] {
		undone = true
		if err := statement.UnAllocate(task); err != nil {
			klog.ErrorS(err, "Failed to undo that a pod is allocated", "pod", klog.KObj(task.Pod))
		}
	}
	return undone
}
