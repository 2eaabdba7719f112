package capacity

import (
	"errors"
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// onAllocate charges a pod that was given a node in this session, for good (allocate) or
// in hope (pipeline), and one whose eviction was taken back. A pod that cannot have its devices
// for good must not be bound: Volcano undoes the allocation, or the pod's binding fails.
func (p *plugin) onAllocate(event *framework.Event) {
	defer p.changed()
	queue, known, err := p.heldBy(event.Task)
	if err != nil {
		klog.V(3).InfoS("Pod is not charged", "reason", err.Error())
		return
	}
	p.settle(known, event.Task)
	if (known.hasClaims || known.cards != nil) && event.Task.Status == api.Allocated {
		if event.Err = p.handOut(queue, event.Task, known); event.Err != nil {
			p.failed[known] = event.Err
			p.unsettle(known)
			return
		}
		delete(p.failed, known)
	}
	if event.Task.Status == api.Pipelined {
		if event.Err = p.mayHope(queue, known); event.Err != nil {
			p.failed[known] = event.Err
			p.unsettle(known)
			return
		}
		delete(p.failed, known)
	}
	if known.hasClaims && event.Task.Status == api.Pipelined {
		p.hope(queue, event.Task, known)
		return
	}
	p.charge(queue, event.Task, known.demand)
	if known.cards != nil {
		delete(p.leaving, &known.cards.part)
		p.remembered(known)
	}
	for _, claim := range known.claims {
		if dra.HeldBy(event.Task.Pod, claim.Object) {
			delete(p.leaving, claim.Part)
		}
	}
}

// hope charges a pod that is only pipelined. It does not carry the charge of its claims, because others
// that share them would have them for nothing, and it may never come to be.
func (p *plugin) hope(queue ledger.QueueID, task *api.TaskInfo, known *pod) {
	for _, claim := range known.claims {
		if !p.ledger.Charged(claim.Part) {
			known.hoped = append(known.hoped, &ledger.Part{Amounts: claim.Part.Amounts})
		}
	}
	p.charge(queue, task, append(slices.Clip(known.ownParts()), known.hoped...))
}

// mayHope says why a pod must not wait for the cards of the node that it is pipelined to: Volcano does not
// ask before it reclaims.
func (p *plugin) mayHope(queue ledger.QueueID, known *pod) error {
	if !p.limitsCards(known) {
		return nil
	}
	shortage, err := p.ledger.Fits(queue, ledger.Demand{&known.cards.part})
	if err == nil && shortage != nil {
		err = errors.New(shortage.String())
	}
	return err
}

// changed notes that the ledger is not what it was.
func (p *plugin) changed() { p.heldView = nil }

// leaveCards notes that a pod is about to go that had cards when the session began; one that was only
// going to have some has none.
func (p *plugin) leaveCards(queue ledger.QueueID, task *api.TaskInfo, known *pod) {
	switch {
	case known.cards == nil:
	case !known.cards.placed:
		p.unsettle(known)
	case p.ledger.ListsCards(queue):
		p.leave(&known.cards.part, leaving{queue: queue, holder: holderOf(task)})
	}
}

// handOut reserves devices for a pod, if the quota allows them still.
func (p *plugin) handOut(queue ledger.QueueID, task *api.TaskInfo, known *pod) error {
	if err := p.reserve(task, known); err != nil {
		p.unreserve(task.Pod.UID, known.claims)
		return err
	}
	if err := p.fits(queue, known); err != nil {
		p.unreserve(task.Pod.UID, known.claims)
		return err
	}
	return nil
}

// onDeallocate gives back what a pod holds. Devices that are allocated in the API server are not
// back before their claims say so: a pod that is being evicted still runs.
func (p *plugin) onDeallocate(event *framework.Event) {
	defer p.changed()
	task := event.Task
	queue, known, err := p.heldBy(task)
	if err != nil {
		klog.V(3).InfoS("Pod is not refunded", "reason", err.Error())
		return
	}
	if p.failed[known] != nil {
		return // it was not charged
	}
	for _, part := range known.ownParts() {
		if err := p.ledger.Release(part, holderOf(task)); err != nil {
			klog.ErrorS(err, "Failed to refund a pod", "pod", klog.KObj(task.Pod))
		}
	}
	p.leaveCards(queue, task, known)
	if err := releaseAll(p.ledger, holderOf(task), known.hoped); err != nil {
		klog.ErrorS(err, "Failed to refund a pod that was pipelined", "pod", klog.KObj(task.Pod))
	}
	known.hoped = nil
	for _, claim := range known.claims {
		if err := releaseAll(p.ledger, holderOf(task), ledger.Demand{claim.Part}); err != nil {
			klog.ErrorS(err, "Failed to refund a claim", "claim", klog.KObj(claim.Object), "pod", klog.KObj(task.Pod))
		}
		if dra.HeldBy(task.Pod, claim.Object) {
			p.leave(claim.Part, leaving{queue: queue, holder: holderOf(task)})
		}
	}
	p.unreserve(task.Pod.UID, known.claims)
}
