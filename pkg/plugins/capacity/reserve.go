package capacity

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
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
	node, found := p.session.Nodes[task.NodeName]
	if !found {
		return fmt.Errorf("node %s is not in this session", task.NodeName)
	}
	picked, err := p.picked(a, node)
	if err != nil {
		return err
	}
	for i, claim := range a.wanting {
		if err := p.take(claim, &picked.results[i], picked.amounts[i], task.Pod.UID, node.Node); err != nil {
			return err
		}
	}
	for _, g := range a.given {
		if err := p.join(g, task.Pod.UID, node.Node); err != nil {
			return err
		}
	}
	return nil
}

// take takes what was picked for a claim, unless Volcano went back to an earlier choice, in which
// another pod came first: then the pod gets what that one has.
func (p *plugin) take(claim *demand.Claim, allocation *resourceapi.AllocationResult, amounts ledger.Amounts, pod types.UID, node *corev1.Node) error {
	pending := p.source.devices.pending
	if decided := pending.Of(claim.Object.UID); decided != nil {
		if !usableOn(decided, node) {
			return fmt.Errorf("ResourceClaim %s/%s has devices elsewhere", decided.Namespace, decided.Name)
		}
		return pending.Add(decided, pod)
	}
	allocated := *claim.Object
	allocated.Status.Allocation = allocation
	if err := pending.Add(&allocated, pod); err != nil {
		return err
	}
	p.allocator.Take(allocation)
	p.changed()
	return claim.Settle(p.ledger, amounts)
}

// join says that the pod needs devices that were given to a claim before, if they are still to be
// written.
func (p *plugin) join(g given, pod types.UID, node *corev1.Node) error {
	if g.nodes != nil && !g.nodes.Match(node) {
		return fmt.Errorf("ResourceClaim %s/%s has devices elsewhere", g.claim.Namespace, g.claim.Name)
	}
	if !p.source.unwritten(g.claim) {
		return nil
	}
	if p.source.devices.pending.Of(g.claim.UID) == nil {
		return fmt.Errorf("ResourceClaim %s/%s is not being allocated any more", g.claim.Namespace, g.claim.Name)
	}
	return p.source.devices.pending.Add(g.claim, pod)
}

// usableOn reports whether the devices of an allocated claim can be used on a node.
func usableOn(claim *resourceapi.ResourceClaim, node *corev1.Node) bool {
	if claim.Status.Allocation.NodeSelector == nil {
		return true
	}
	selector, err := nodeaffinity.NewNodeSelector(claim.Status.Allocation.NodeSelector)
	return err == nil && selector.Match(node)
}

// picked returns what was picked for a pod on a node. When devices were taken or put back since,
// as when Volcano tries several sets of nodes and then goes back to the best, it picks again.
func (p *plugin) picked(a *attempt, node *api.NodeInfo) (*pick, error) {
	if len(a.wanting) == 0 {
		return &pick{}, nil
	}
	picked := a.picks[node.Name]
	if picked != nil && picked.changes == p.allocator.Changes() {
		return picked, nil
	}
	a.books = p.held()
	picked, err := p.on(a, node.Node)
	if err == nil && picked == nil {
		err = fmt.Errorf("node %s has the devices no more that were picked", node.Name)
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
		if allocation == nil || !p.source.unwritten(claim.Object) {
			continue // others need it, or it was written meanwhile, for one of them
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
	if p.source.devices == nil {
		return
	}
	binding := map[types.UID]bool{}
	for _, job := range p.session.Jobs {
		for _, task := range job.TaskStatusIndex[api.Binding] {
			binding[task.Pod.UID] = true
		}
	}
	p.source.devices.pending.Keep(func(pod types.UID) bool { return binding[pod] })
}

// claimsToBind returns the claims of a pod that is about to be bound, each with its allocation.
func (p *plugin) claimsToBind(known *pod) ([]*resourceapi.ResourceClaim, error) {
	if known.err != nil {
		return nil, known.err
	}
	var claims []*resourceapi.ResourceClaim
	for _, claim := range known.claims {
		object := p.source.latest(claim.Object)
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
	shortage, err := p.held().Fits(queue, known.checks)
	if err == nil && shortage != nil {
		err = errors.New(shortage.String())
	}
	return err
}
