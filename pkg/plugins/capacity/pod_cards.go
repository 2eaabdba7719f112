package capacity

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// podCards is what is known of a pod that asks for cards of device plugins.
type podCards struct {
	*demand.Cards
	// part is what the pod is charged: the cards of its node. It is empty while it has none.
	part ledger.Part
	// choices are for checks while the pod waits.
	choices []*ledger.Part
	// settled says that part is what the pod has, whatever becomes of its node's labels.
	settled bool
	// placed says that the pod had a node when the session began.
	placed bool
}

// asksForCards reports whether a pod may ask for cards; what it asks for hangs on what nodes have.
func (p *plugin) asksForCards(task *api.TaskInfo) bool {
	if _, names := task.Pod.Annotations[card.NameAnnotation]; names {
		return true
	}
	for name := range task.InitResreq.ScalarResources {
		if p.process.cards.fleet.IsCard(name) {
			return true
		}
	}
	return false
}

// countCards finds out what a pod asks for of cards. What it has been charged is kept, from an earlier
// look at the pod or at what it was before it changed.
func (p *plugin) countCards(known *pod, task *api.TaskInfo) {
	var before *podCards
	if placed := p.process.placed[task.Pod.UID]; placed != nil {
		before = placed.cards
	}
	known.cards, known.cardsErr = nil, nil
	if before == nil && !p.asksForCards(task) {
		return
	}
	fleet, dimensions := &p.process.cards.fleet, &p.process.dimensions
	cards, err := demand.CardsOf(task.Pod.Annotations, &task.Pod.Spec, fleet, dimensions)
	if err != nil {
		known.cardsErr = err
		// What it holds counts all the same. Nothing is wrong with a pod that names nothing.
		cards, _ = demand.CardsOf(nil, &task.Pod.Spec, fleet, dimensions)
	}
	if cards == nil && before == nil {
		return
	}
	if cards == nil {
		cards = &demand.Cards{} // those that it has are gone from the cluster
	}
	known.cards = &podCards{Cards: cards, choices: cards.Choices()}
	if before != nil {
		known.cards.part.Amounts, known.cards.settled = before.part.Amounts, before.settled
		p.process.placed[task.Pod.UID] = known
	}
}

// settle makes the part of a pod that has a node what the node has. A pod that was charged before
// keeps its charge.
func (p *plugin) settle(known *pod, task *api.TaskInfo) {
	c := known.cards
	if c == nil || c.settled {
		return
	}
	node := p.process.cards.fleet.Node(task.NodeName)
	var err error
	// Cards whose name nobody knows yet are counted when somebody does.
	if c.part.Amounts, c.settled, err = c.On(node, &p.process.dimensions); err != nil {
		klog.ErrorS(err, "Failed to count the cards of a pod", "pod", klog.KObj(task.Pod))
	}
}

// unsettle forgets what a pod was charged that has no node any more.
func (p *plugin) unsettle(known *pod) {
	if c := known.cards; c != nil {
		c.part.Amounts, c.settled = nil, false
		delete(p.process.placed, known.object.UID)
	}
}

// loadCards finds out what a pod is charged as a session begins. It reports whether the pod asks for
// any cards.
func (p *plugin) loadCards(known *pod, task *api.TaskInfo) bool {
	c := known.cards
	if c == nil {
		return false
	}
	if c.placed = api.AllocatedStatus(task.Status) || task.Status == api.Releasing; !c.placed {
		p.unsettle(known)
		return true
	}
	p.settle(known, task)
	p.process.placed[task.Pod.UID] = known
	if task.Status == api.Releasing && p.ledger.ListsCards(known.queue) {
		p.leave(&c.part, leaving{queue: known.queue, holder: holderOf(task)})
	}
	return true
}
