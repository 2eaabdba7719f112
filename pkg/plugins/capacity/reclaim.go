package capacity

import (
	"slices"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// preemptive is Volcano's PreemptiveFn: may the queue take back from others what the pod
// asks for? It must have room for the pod itself, since what it takes back is in other
// queues, and it must not have got what it deserves.
func (p *plugin) preemptive(obj, candidate any) bool {
	info, task := obj.(*api.QueueInfo), candidate.(*api.TaskInfo)
	queue, r, refused := p.checkQueue(info)
	known := p.process.pods[task.Pod]
	if refused || known == nil || known.err != nil {
		klog.V(3).InfoS("Queue cannot reclaim", "queue", info.Name, "pod", klog.KRef(task.Namespace, task.Name), "reason", r.message)
		return false
	}
	demand, fits := p.fitsAlone(queue, known)
	may := fits && p.ledger.MayReclaim(queue, demand)
	metrics.UpdateQueueOverused(info.Name, !may)
	klog.V(3).InfoS("Queue asked whether it can reclaim", "queue", info.Name, "pod", klog.KRef(task.Namespace, task.Name), "fits", fits, "can", may)
	return may
}

// fitsAlone reports whether the queue can carry what the pod asks for, whatever its ancestors have, and
// returns that: of cards that the pod may choose among, the first ones that the queue can carry.
func (p *plugin) fitsAlone(queue ledger.QueueID, known *pod) (ledger.Demand, bool) {
	d := known.checks
	if !p.limitsCards(known) || known.cards.settled {
		return d, p.ledger.FitsAlone(queue, d)
	}
	for _, choice := range known.cards.choices {
		best := &ledger.Part{Amounts: choice.Amounts}
		for i, alternative := range choice.Alternatives {
			part := &ledger.Part{Amounts: alternative}
			if i == 0 || p.ledger.FitsAlone(queue, ledger.Demand{part}) && !p.ledger.FitsAlone(queue, ledger.Demand{best}) {
				best = part
			}
		}
		d = append(slices.Clip(d), best)
	}
	return d, p.ledger.FitsAlone(queue, d)
}

// mayHaveCardsOf reports whether the queue, whatever its ancestors have, can carry the cards of the node
// that all victims are on.
func (p *plugin) mayHaveCardsOf(node string, queue ledger.QueueID, known *pod) bool {
	return !p.limitsCards(known) || p.ledger.FitsAlone(queue, ledger.Demand{known.cards.partOn(p.process.cards.fleet.Node(node))})
}

// reclaimable is Volcano's ReclaimableFn: which of the pods can be asked to go, so that the
// reclaimer gets what its queue deserves? Each choice counts for the next.
func (p *plugin) reclaimable(reclaimer *api.TaskInfo, reclaimees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	queue, known, err := p.heldBy(reclaimer)
	if err != nil {
		klog.V(3).InfoS("Pod cannot reclaim", "pod", klog.KRef(reclaimer.Namespace, reclaimer.Name), "reason", err.Error())
		return nil, util.Reject
	}
	if len(reclaimees) > 0 && !p.mayHaveCardsOf(reclaimees[0].NodeName, queue, known) {
		return nil, util.Reject
	}
	wanted := p.wanted(reclaimer, known)
	demand, _ := p.fitsAlone(queue, known)
	bottleneck, tight := p.ledger.Bottleneck(queue, demand)
	books := p.ledger.View()
	var victims []*api.TaskInfo
	for _, reclaimee := range reclaimees {
		from, loser, err := p.heldBy(reclaimee)
		if err != nil || tight && !p.ledger.Within(from, bottleneck) {
			continue
		}
		freed := books.Frees(holderOf(reclaimee), loser.demand)
		if !p.helps(freed, wanted) || !books.MayLose(from, freed) {
			klog.V(5).InfoS("Pod keeps what it has", "pod", klog.KRef(reclaimee.Namespace, reclaimee.Name),
				"queue", p.ledger.Name(from), "reclaimer", klog.KRef(reclaimer.Namespace, reclaimer.Name))
			continue
		}
		if err := releaseAll(books, holderOf(reclaimee), loser.demand); err != nil {
			klog.ErrorS(err, "Failed to simulate the release of a pod", "pod", klog.KRef(reclaimee.Namespace, reclaimee.Name))
			continue
		}
		victims = append(victims, reclaimee)
	}
	klog.V(4).InfoS("Victims for a pod", "pod", klog.KRef(reclaimer.Namespace, reclaimer.Name), "candidates", len(reclaimees), "victims", len(victims))
	return victims, util.Permit
}

// wanted is what the reclaimer needs a node to have, init containers included, and its devices.
func (p *plugin) wanted(reclaimer *api.TaskInfo, known *pod) ledger.Amounts {
	wanted, err := p.process.resources.amounts(reclaimer.InitResreq)
	if err != nil {
		return nil // its Allocatable says so
	}
	for _, claim := range known.claims {
		wanted = plus(wanted, claim.Part.Amounts)
	}
	return wanted
}

// helps reports whether anything that is freed is wanted. Every pod frees its place among the
// pods of a node; that alone helps nobody.
func (p *plugin) helps(freed, wanted ledger.Amounts) bool {
	for _, e := range freed {
		if e.Dimension != p.process.resources.pods && e.Amount.Sign() > 0 && wanted.Of(e.Dimension).Sign() > 0 {
			return true
		}
	}
	return false
}
