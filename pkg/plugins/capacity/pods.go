package capacity

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// pod is what is known of a pod. It is remembered from session to session, so that a pod
// that has not changed costs a lookup.
type pod struct {
	// What is needed for every pod in every session comes first, to be in the same lines of memory.

	// round is the last session that had the pod.
	round uint64
	// edition is that of the cards in the cluster when the pod's cards were counted.
	edition int
	// queue answers for the pod if inLedger says so; else that queue is set aside.
	queue               ledger.QueueID
	inLedger, hasClaims bool
	// cards is nil for a pod that asks for none, or only for such of which nobody knows the name:
	// unnamed is their resource then.
	cards *podCards
	// demand is all that the pod is charged: its resources first, then its cards if it asks for any,
	// then its claims, as far as they exist and can be counted.
	demand    ledger.Demand
	resources ledger.Part
	// own is the memory of a demand without claims.
	own [2]*ledger.Part

	job     api.JobID
	object  *corev1.Pod
	claims  []*demand.Claim
	unnamed corev1.ResourceName
	// checks is what of demand must fit: all, unless pods with cards are free to use cpu and memory.
	checks ledger.Demand
	// hoped is what the pod is charged in place of its claims while it is only pipelined.
	hoped ledger.Demand
	// extended is an extended resource that the pod requests and that only DRA serves, while no
	// devices have been given to it for that; empty for none.
	extended corev1.ResourceName
	// err says why the pod cannot be counted in full; nil if it can. It is the first of those of its
	// resources, cards and claims.
	err, resourcesErr, cardsErr, claimsErr error
}

// asks is all that must fit for the pod to be placed: what it would be charged at least, and one
// of each choice among alternatives.
func (p *plugin) asks(known *pod) ledger.Demand {
	asks := known.checks
	if p.limitsCards(known) && !known.cards.settled {
		asks = known.cards.asked
	}
	for _, claim := range known.claims {
		if len(claim.Choices) > 0 {
			asks = append(slices.Clip(asks), claim.Choices...)
		}
	}
	return asks
}

// limitsCards reports whether the pod asks for cards in a queue that is limited in cards.
func (p *plugin) limitsCards(known *pod) bool {
	return known.cards != nil && known.inLedger && p.ledger.ListsCards(known.queue)
}

// ownParts are those parts of the demand that no other pod can hold.
func (known *pod) ownParts() ledger.Demand {
	if known.cards != nil {
		return known.demand[:2]
	}
	return known.demand[:1]
}

// wants reports whether a claim of the pod asks for devices of a class and has none yet.
func (known *pod) wants(class string) bool {
	for _, claim := range known.claims {
		if claim.Object.Status.Allocation != nil {
			continue
		}
		for wanted := range claim.Usage.Classes {
			if wanted == class {
				return true
			}
		}
	}
	return false
}

// lookAt returns what is known of a task's pod, after finding out what has changed since the
// last session. Within a session, the answer stays the same. A pod that is changed is
// another object, so that what is known of an object stays true, but for its claims.
func (p *plugin) lookAt(task *api.TaskInfo) *pod {
	known := p.process.pods[task.Pod]
	if known == nil {
		known = p.newPod(task)
		p.process.pods[task.Pod] = known
	}
	if known.round == p.process.round {
		return known
	}
	known.round = p.process.round
	counted := known.edition == p.process.cards.fleet.Edition()
	if !counted {
		p.countCards(known, task)
		known.edition = p.process.cards.fleet.Edition()
	}
	if known.hasClaims {
		p.countClaims(known)
	}
	if known.hasClaims || !counted || known.checks == nil {
		p.compose(known)
	}
	return known
}

// compose puts the demand together.
func (p *plugin) compose(known *pod) {
	known.demand = known.own[:1]
	known.err = cmp.Or(known.resourcesErr, known.cardsErr, known.claimsErr)
	if known.cards != nil {
		known.own[1] = &known.cards.part
		known.demand = known.own[:]
	}
	for _, claim := range known.claims {
		known.demand = append(known.demand, claim.Part)
	}
	known.checks = known.demand
	if p.settings.unlimitedCards && (known.cards != nil || known.unnamed != "" || known.hasClaims) {
		known.checks = slices.Clone(known.demand)
		known.checks[0] = &ledger.Part{Amounts: p.withoutBasics(known.resources.Amounts)}
	}
	if known.cards != nil {
		known.cards.asked = append(slices.Clip(known.checks), known.cards.choices...)
	}
}

// withoutBasics leaves out cpu and memory.
func (p *plugin) withoutBasics(amounts ledger.Amounts) ledger.Amounts {
	resources := p.process.resources
	return slices.DeleteFunc(slices.Clone(amounts), func(e ledger.Entry) bool {
		return e.Dimension == resources.cpu || e.Dimension == resources.memory
	})
}

func (p *plugin) newPod(task *api.TaskInfo) *pod {
	known := &pod{object: task.Pod, job: task.Job, hasClaims: len(task.Pod.Spec.ResourceClaims) > 0 || task.Pod.Status.ExtendedResourceClaimStatus != nil}
	amounts, err := p.process.resources.amounts(task.Resreq)
	if err == nil && task.Pod.Status.ExtendedResourceClaimStatus == nil {
		amounts, known.extended, err = p.process.resources.devices(task.Pod, amounts)
	}
	if err != nil {
		known.resourcesErr = err
		klog.ErrorS(err, "Failed to count the resources of a pod", "pod", klog.KObj(task.Pod))
	}
	// Pods of one job mostly want the same; sharing the list saves memory and time.
	if slices.Equal(amounts, p.process.lastAmounts) {
		amounts = p.process.lastAmounts
	}
	p.process.lastAmounts = amounts
	known.resources.Amounts = amounts
	known.own[0] = &known.resources
	known.edition = -1
	return known
}

func (p *plugin) countClaims(known *pod) {
	known.claims, known.claimsErr = demand.OfPod(known.object, p.source, p.process.claims)
	known.hoped = nil
}

// forgetPods drops pods that the session does not have. Tasks is how many it has.
func (p *plugin) forgetPods(tasks int) {
	if len(p.process.pods) == tasks {
		return
	}
	for object, known := range p.process.pods {
		if known.round != p.process.round {
			delete(p.process.pods, object)
		}
	}
	maps.DeleteFunc(p.process.placed, func(_ types.UID, known *pod) bool {
		return known.round != p.process.round && !p.runs(known.object)
	})
}

// runs reports whether a pod that the session does not have is still there: its job may be back later,
// when its queue is.
func (p *plugin) runs(pod *corev1.Pod) bool {
	now, err := p.session.InformerFactory().Core().V1().Pods().Lister().Pods(pod.Namespace).Get(pod.Name)
	return err == nil && now.UID == pod.UID && now.Status.Phase != corev1.PodSucceeded && now.Status.Phase != corev1.PodFailed
}

func holderOf(task *api.TaskInfo) ledger.Holder {
	return ledger.Holder(task.UID)
}
