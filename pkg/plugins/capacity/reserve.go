package capacity

import (
	"errors"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// reserve takes the devices that were picked for a pod on the node that it was given. Other than
// upstream it goes by the node of the task, because the pod's is not set when the pod is only
// pipelined (volcano pull request 5884).
func (p *plugin) reserve(task *api.TaskInfo, known *pod) error {
	a := p.attempts[known]
	if a == nil {
		return nil
	}
	picked, err := p.picked(a, task.NodeName)
	if err != nil {
		return err
	}
	pending := p.source.devices.pending
	for i, claim := range a.wanting {
		allocated := *claim.Object
		allocated.Status.Allocation = &picked.results[i]
		if err := pending.Add(&allocated, task.Pod.UID); err != nil {
			return err
		}
		p.allocator.Take(allocated.Status.Allocation)
		if err := claim.Settle(p.ledger, picked.amounts[i]); err != nil {
			return err
		}
		p.changed()
	}
	for _, g := range a.given {
		if !g.unwritten {
			continue
		}
		if err := pending.Add(g.claim, task.Pod.UID); err != nil {
			return err
		}
	}
	return nil
}

// picked returns what was picked for a pod on a node. When devices were taken or put back since,
// as when Volcano tries several sets of nodes and then goes back to the best, it picks again.
func (p *plugin) picked(a *attempt, name string) (*pick, error) {
	if len(a.wanting) == 0 {
		return &pick{}, nil
	}
	picked := a.picks[name]
	if picked != nil && picked.changes == p.allocator.Changes() {
		return picked, nil
	}
	node, found := p.session.Nodes[name]
	if !found {
		return nil, fmt.Errorf("node %s is not in this session", name)
	}
	a.books = p.held()
	picked, err := p.on(a, node.Node)
	if err == nil && picked == nil {
		err = fmt.Errorf("node %s has the devices no more that were picked", name)
	}
	return picked, err
}

// unreserve puts back what reserve took and nobody else needs.
func (p *plugin) unreserve(pod types.UID, claims []*demand.Claim) {
	if p.source.devices == nil {
		return
	}
	for _, claim := range claims {
		allocation := p.source.devices.pending.Drop(claim.Object.UID, pod)
		if allocation == nil {
			continue
		}
		if p.allocator != nil {
			p.allocator.PutBack(allocation)
		}
		if err := claim.Unsettle(p.ledger); err != nil {
			klog.ErrorS(err, "Failed to refund a claim", "claim", klog.KObj(claim.Object))
		}
	}
}

// unreserveUnbound puts back, when a session closes, what was reserved for pods that are not
// being bound. A gang that is only pipelined is neither bound nor undone; upstream's devices
// stay reserved then until the scheduler restarts (volcano pull requests 5103 and 5884).
func (p *plugin) unreserveUnbound() {
	for known, a := range p.attempts {
		job, found := p.session.Jobs[known.job]
		if found && job.TaskStatusIndex[api.Binding][api.TaskID(known.object.UID)] != nil {
			continue
		}
		for _, claim := range a.known.claims {
			p.source.devices.pending.Drop(claim.Object.UID, known.object.UID)
		}
	}
}

// claimsToBind returns the claims of a pod that is about to be bound, each with its allocation.
func (p *plugin) claimsToBind(known *pod) ([]*resourceapi.ResourceClaim, error) {
	if known.err != nil {
		return nil, known.err
	}
	var claims []*resourceapi.ResourceClaim
	for _, claim := range known.claims {
		object := claim.Object
		if pending := p.source.devices.pending.Of(object.UID); object.Status.Allocation == nil && pending != nil {
			object = pending
		}
		if object.Status.Allocation == nil {
			return nil, errors.New("no devices were reserved for ResourceClaim " + object.Namespace + "/" + object.Name)
		}
		claims = append(claims, object)
	}
	return claims, nil
}

// fits checks a demand once more when it is about to be charged for good. Volcano asks before,
// but not in every action, nor again when it goes back to an earlier choice.
func (p *plugin) fits(queue ledger.QueueID, known *pod) error {
	shortage, err := p.held().Fits(queue, known.demand)
	if err == nil && shortage != nil {
		err = errors.New(shortage.String())
	}
	return err
}
