// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Holding is what a pod holds or is promised, or a claim that no pod holds any more.
type Holding struct {
	Holder ledger.Holder
	// Queue is the queue of the pod, or the queue that pays for the claim. A shared claim of a pod may be charged to another queue.
	Queue ledger.QueueID
	// Job is nil for a claim, and for a pod that belongs to no job of the session.
	Job *api.JobInfo
	// Task is nil for a claim.
	Task *api.TaskInfo
	// Claim is nil for a pod.
	Claim *resourceapi.ResourceClaim
	// Parts are the held parts. Exactly one holder pays for each part.
	Parts []HeldPart
}

// HeldPart is one part of a holding.
type HeldPart struct {
	ledger.Hold
	// Claim is nil for the resources and cards of the pod, and for parts promised in place of claims.
	Claim *demand.Claim
}

// ScheduledSince returns when a pod got its node, nil if not known yet.
func ScheduledSince(pod *corev1.Pod) *metav1.Time {
	_, condition := podutil.GetPodCondition(&pod.Status, corev1.PodScheduled)
	if condition == nil || condition.Status != corev1.ConditionTrue || condition.LastTransitionTime.IsZero() {
		return nil
	}
	return &condition.LastTransitionTime
}

// EachHolding calls yield for everything that is charged to a queue now, or that releasing pods still hold. yield must not keep
// the holding. promised returns what a pod is charged in place of claims that it does not pay for yet.
func (s *Snapshot) EachHolding(promised func(*api.TaskInfo) ledger.Demand, yield func(*Holding)) {
	w := holdingWalk{snapshot: s, promised: promised, yield: yield}
	for _, job := range s.Jobs {
		for _, task := range job.Tasks {
			w.pod(job, task)
		}
	}
	for _, task := range s.strayTasks {
		if job := s.Jobs[task.Job]; job == nil || job.Tasks[task.UID] == nil { // otherwise, its queue has no place in the hierarchy
			w.pod(nil, task)
		}
	}
	for claim := range s.Counter.Claims.All {
		w.orphan(claim)
	}
}

// EachChangedHolding is EachHolding for pods that are new or changed since the last session.
func (s *Snapshot) EachChangedHolding(promised func(*api.TaskInfo) ledger.Demand, yield func(*Holding)) {
	w := holdingWalk{snapshot: s, promised: promised, yield: yield}
	for _, task := range s.changed {
		w.pod(s.Jobs[task.Job], task)
	}
}

// HoldingOf calls yield for what one pod holds or is promised, unless that is nothing.
func (s *Snapshot) HoldingOf(job *api.JobInfo, task *api.TaskInfo, promised func(*api.TaskInfo) ledger.Demand, yield func(*Holding)) {
	w := holdingWalk{snapshot: s, promised: promised, yield: yield}
	w.pod(job, task)
}

// holdingWalk visits all holders.
type holdingWalk struct {
	snapshot *Snapshot
	promised func(*api.TaskInfo) ledger.Demand
	yield    func(*Holding)
	// holding is reused for each holder.
	holding Holding
}

func (w *holdingWalk) pod(job *api.JobInfo, task *api.TaskInfo) {
	s := w.snapshot
	pod := s.Known(task.Pod)
	if pod == nil {
		return
	}
	w.holding = Holding{Holder: HolderOf(task), Queue: pod.Queue, Job: job, Task: task, Parts: w.holding.Parts[:0]}
	for _, part := range pod.Own() {
		w.add(part, nil)
	}
	for _, claim := range pod.Claims {
		w.add(claim.Part, claim)
	}
	if task.Status != api.Running { // only for speed: a pod inherits in the session in which it gets its node
		for _, part := range w.promised(task) {
			w.add(part, nil)
		}
	}
	w.end()
}

// orphan adds a claim that no pod holds.
func (w *holdingWalk) orphan(claim *demand.Claim) {
	w.holding = Holding{Holder: ledger.Holder(claim.Object.UID), Claim: claim.Object, Parts: w.holding.Parts[:0]}
	w.add(claim.Part, claim)
	for i := range w.holding.Parts {
		w.holding.Queue = w.holding.Parts[i].Queue
	}
	w.end()
}

// add adds a part if the holder holds it.
func (w *holdingWalk) add(part *ledger.Part, claim *demand.Claim) {
	if hold, held := w.snapshot.Ledger.HoldOf(part, w.holding.Holder); held {
		w.holding.Parts = append(w.holding.Parts, HeldPart{Hold: hold, Claim: claim})
	}
}

func (w *holdingWalk) end() {
	if len(w.holding.Parts) > 0 {
		w.yield(&w.holding)
	}
}
