package capacity

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// pickTimeout bounds the search for devices on one node, as upstream bounds it.
const pickTimeout = 10 * time.Second

// attempt is an attempt to find a node with the devices that a pod needs. Nodes are looked at
// from several goroutines.
type attempt struct {
	queue ledger.QueueID
	known *pod
	// books is the ledger that what is picked must fit.
	books *ledger.Ledger
	// cards says of cards that the pod may get why the quota does not allow them.
	cards cardRefusals
	// given are the claims that have devices already, or are about to have them.
	given []given
	// wanting are the claims that devices must be picked for.
	wanting []*demand.Claim
	// open says that the quota must be checked against what is picked.
	open bool
	// full is why the quota allows nothing as long as other pods have not gone; empty if it does.
	full string

	mu    sync.Mutex
	picks map[string]*pick
	// lacking says that some node did not have the devices.
	lacking bool
	// refused is why the quota refused what was picked, on the node where that reads first.
	refused refusal
}

// given is an allocation that a pod will use as it is.
type given struct {
	claim *resourceapi.ResourceClaim
	// nodes is where its devices can be used; nil for everywhere.
	nodes *nodeaffinity.NodeSelector
}

// pick is what was picked on one node.
type pick struct {
	// results and amounts have an entry for each claim that is wanting.
	results []resourceapi.AllocationResult
	amounts []ledger.Amounts
	changes uint64
}

// newAttempt finds out which claims of a pod need devices. The error says why no node will do.
func (p *plugin) newAttempt(queue ledger.QueueID, known *pod) (*attempt, error) {
	a := &attempt{queue: queue, known: known, books: p.held(), picks: map[string]*pick{}}
	// What is pending counts as taken for the rest of the session, even if it comes to nothing.
	if known.hasClaims {
		if err := p.openAllocator(); err != nil {
			return nil, err
		}
	}
	for _, claim := range known.claims {
		object := p.source.latest(claim.Object)
		if _, freeing := p.source.devices.freeing.Load(object.UID); freeing {
			return nil, passing("is just losing devices that cannot be used", object)
		}
		if object.Status.Allocation == nil {
			a.wanting = append(a.wanting, claim)
			a.open = a.open || claim.Open
			continue
		}
		g, unwritten := given{claim: object}, p.source.unwritten(object)
		if unwritten && p.source.devices.pending.Of(object.UID) == nil {
			return nil, passing("was about to be allocated, which failed: it is tried again", object)
		}
		if carrier, _, charged := p.ledger.Carrier(claim.Part); unwritten && charged && carrier != queue {
			return nil, passing("is being allocated for a pod of another queue: it can be shared when that is done", object)
		}
		if !resourceclaim.CanBeReserved(object) && !resourceclaim.IsReservedForPod(known.object, object) {
			return nil, fmt.Errorf("ResourceClaim %s/%s is used by %d pods, which is the most that can share one: use another one",
				object.Namespace, object.Name, len(object.Status.ReservedFor))
		}
		if selector := object.Status.Allocation.NodeSelector; selector != nil {
			var err error
			if g.nodes, err = nodeaffinity.NewNodeSelector(selector); err != nil {
				return nil, fmt.Errorf("ResourceClaim %s/%s: its allocation's nodeSelector: %w", object.Namespace, object.Name, err)
			}
		}
		a.given = append(a.given, g)
	}
	shortage, err := a.books.Fits(queue, p.asks(known))
	if err == nil && p.limitsCards(known) {
		a.cards, err = p.refuseCards(a.books, queue, known)
	}
	if shortage != nil {
		a.refused = p.shortOf(queue, known, shortage, a.cards)
		a.full = a.refused.message
	}
	return a, err
}

// passingError is gone in a moment and no news for anybody.
type passingError struct{ error }

func passing(what string, claim *resourceapi.ResourceClaim) error {
	return passingError{fmt.Errorf("ResourceClaim %s/%s %s", claim.Namespace, claim.Name, what)}
}

// openAllocator makes the session's allocator when it is first needed.
func (p *plugin) openAllocator() (err error) {
	if p.allocator == nil {
		p.allocator, err = p.source.devices.pending.Allocator(p.catalog)
	}
	return err
}

// on picks devices on a node. It returns nil when the node has them not, or has none that the
// quota allows.
func (p *plugin) on(a *attempt, node *corev1.Node) (*pick, error) {
	claims := make([]*resourceapi.ResourceClaim, len(a.wanting))
	for i, claim := range a.wanting {
		claims[i] = claim.Object
	}
	picked := &pick{changes: p.allocator.Changes()}
	ctx, cancel := context.WithTimeout(context.Background(), pickTimeout)
	defer cancel()
	var failed error
	results, err := p.allocator.Pick(ctx, node, claims, func(results []resourceapi.AllocationResult) bool {
		var allowed bool
		picked.amounts, allowed, failed = p.allows(a, node.Name, results)
		return allowed
	})
	switch {
	case err != nil:
		return nil, err
	case failed != nil:
		return nil, failed
	case results == nil:
		return nil, nil
	}
	picked.results = results
	return picked, nil
}

// allows checks what would be charged for picked devices against the quota.
func (p *plugin) allows(a *attempt, node string, results []resourceapi.AllocationResult) ([]ledger.Amounts, bool, error) {
	if !a.open {
		amounts := make([]ledger.Amounts, len(a.wanting))
		for i, claim := range a.wanting {
			amounts[i] = claim.Part.Amounts
		}
		return amounts, true, nil
	}
	amounts, d := make([]ledger.Amounts, len(a.wanting)), p.withCardsOf(a, node)
	for i, claim := range a.wanting {
		would, lacking, err := p.process.claims.Picked(claim, &results[i])
		if err != nil {
			return nil, false, err
		}
		for _, o := range lacking {
			if by, _, limited := p.ledger.Nearest(a.queue, o); limited {
				return nil, false, fmt.Errorf("queue %s limits %s, a capacity that device %s of the class does not have: take it out of the queue's spec.dra, or correct its name",
					p.ledger.Name(by), p.process.dimensions.Dimension(o), deviceOf(&results[i]))
			}
		}
		amounts[i] = would
		d[slices.Index(d, claim.Part)] = &ledger.Part{Amounts: would}
	}
	shortage, err := a.books.Fits(a.queue, d)
	if shortage != nil {
		a.refuse(p.short(a.queue, shortage))
	}
	return amounts, shortage == nil && err == nil, err
}

func deviceOf(result *resourceapi.AllocationResult) string {
	first := &result.Devices.Results[0]
	return first.Driver + "/" + first.Pool + "/" + first.Device
}

// refuse keeps of all reasons the one that sorts first, so that it does not depend on which node
// was looked at first.
func (a *attempt) refuse(r refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused.message == "" || r.message < a.refused.message {
		a.refused = r
	}
}

func (a *attempt) lack() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lacking = true
}

func (a *attempt) note(node string, picked *pick) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.picks[node] = picked
}

// predicate is Volcano's PredicateFn: does the node have the devices that the pod needs, and does
// the quota allow just those?
func (p *plugin) predicate(task *api.TaskInfo, node *api.NodeInfo) error {
	a := p.attempts[p.process.pods[task.Pod]]
	if a == nil {
		return nil
	}
	if a.known.cards != nil {
		if err := p.predicateCards(a, task, node); err != nil {
			return err
		}
	}
	if shortage := a.full; shortage != "" {
		return unfit(task, node, api.Unschedulable, shortage)
	}
	for _, g := range a.given {
		if g.nodes != nil && !g.nodes.Match(node.Node) {
			return unfit(task, node, api.UnschedulableAndUnresolvable, fmt.Sprintf("ResourceClaim %s/%s has devices elsewhere", g.claim.Namespace, g.claim.Name))
		}
	}
	if len(a.wanting) == 0 {
		return nil
	}
	picked, err := p.on(a, node.Node)
	switch {
	case err != nil:
		a.refuse(refusal{reason: taskRequestFailed, message: "Devices cannot be picked: " + err.Error()})
		return unfit(task, node, api.Unschedulable, err.Error())
	case picked == nil:
		a.lack()
		return unfit(task, node, api.Unschedulable, "cannot give it the devices of its ResourceClaims")
	}
	a.note(node.Name, picked)
	return nil
}

func unfit(task *api.TaskInfo, node *api.NodeInfo, code int, reason string) error {
	return api.NewFitErrWithStatus(task, node, &api.Status{Code: code, Reason: reason, Plugin: Name})
}
