package capacity

import (
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// heldClaim is a claim that was charged to a queue.
type heldClaim struct {
	claim *resourceapi.ResourceClaim
	queue string
}

// holding is a pod with the queue that answers for it.
type holding struct {
	task  *api.TaskInfo
	queue ledger.QueueID
}

// chargeHeld charges to the fresh ledger all devices that are in use: those of pods that
// are placed, and those of every claim that is allocated, whatever has become of its pod,
// because its devices are not back before the allocation is gone.
func (p *plugin) chargeHeld() {
	for _, h := range p.holdings() {
		p.chargePod(h)
	}
	p.chargeRemembered()
}

// holdings lists the pods with claims, the oldest first: of the pods that share a claim
// the one that came first carries the charge.
func (p *plugin) holdings() []holding {
	var holdings []holding
	for _, job := range p.session.Jobs {
		queue, found := p.ledger.Queue(string(job.Queue))
		if !found {
			continue
		}
		for _, task := range job.Tasks {
			if len(task.Pod.Spec.ResourceClaims) > 0 {
				holdings = append(holdings, holding{task: task, queue: queue})
			}
		}
	}
	slices.SortFunc(holdings, func(a, b holding) int {
		if c := a.task.Pod.CreationTimestamp.Compare(b.task.Pod.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(string(a.task.UID), string(b.task.UID))
	})
	return holdings
}

// chargePod charges those claims of a pod that it holds: all of them when the pod has a
// node, else those that are allocated to it already.
func (p *plugin) chargePod(h holding) {
	for _, claim := range p.claimsOf(h.task) {
		if api.AllocatedStatus(h.task.Status) || dra.HeldBy(h.task.Pod, claim) {
			p.chargeClaim(h.queue, holderOf(h.task), claim)
		}
	}
}

// claimsOf returns those claims of a pod that exist; the others hold nothing.
func (p *plugin) claimsOf(task *api.TaskInfo) []*resourceapi.ResourceClaim {
	var claims []*resourceapi.ResourceClaim
	for i := range task.Pod.Spec.ResourceClaims {
		claim, err := dra.ClaimOf(task.Pod, &task.Pod.Spec.ResourceClaims[i], p.source)
		if err == nil && claim != nil {
			claims = append(claims, claim)
		}
	}
	return claims
}

func (p *plugin) chargeClaim(queue ledger.QueueID, holder ledger.Holder, claim *resourceapi.ResourceClaim) {
	part, err := demand.OfClaim(claim, &p.process.dimensions)
	if err == nil {
		err = p.ledger.Charge(queue, holder, ledger.Demand{part})
	}
	if err != nil {
		klog.ErrorS(err, "Failed to charge a claim", "claim", klog.KObj(claim))
		return
	}
	p.charged[part.Key] = claim
}

// chargeRemembered charges claims whose pods are gone but whose devices are still taken to
// the queue that had them last.
func (p *plugin) chargeRemembered() {
	for key, held := range p.process.held {
		queue, found := p.ledger.Queue(held.queue)
		if !found || p.ledger.Charged(key) {
			continue
		}
		if claim, inUse := p.source.inUse(held.claim); inUse {
			p.chargeClaim(queue, ledger.Holder(key), claim)
		}
	}
}

// remember keeps, for the next session, which queue carries which claim.
func (p *plugin) remember() {
	held := make(map[ledger.Key]heldClaim, len(p.charged))
	p.ledger.Charges(func(key ledger.Key, queue string) {
		held[key] = heldClaim{claim: p.charged[key], queue: queue}
	})
	p.process.held = held
}

func holderOf(task *api.TaskInfo) ledger.Holder {
	return ledger.Holder(task.UID)
}
