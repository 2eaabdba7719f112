package capacity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
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
	// choices are for checks while the pod waits, asked is all that is checked then. It is made before
	// anybody asks, because simulations ask from several goroutines.
	choices []*ledger.Part
	asked   ledger.Demand
	// charged are the requests that part has, whatever becomes of the node's labels. Cards whose name
	// nobody knew are charged when somebody does.
	charged []corev1.ResourceName
	// settled says that the pod has a node, and that part is for that.
	settled bool
	// placed says that the pod had a node when the session began, remembered that the process knows.
	placed, remembered bool
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
	known.cards, known.cardsErr, known.unnamed = nil, nil, ""
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
	if before == nil && (cards == nil || len(cards.Names) == 0 && !cards.Named()) {
		if cards != nil {
			known.unnamed = cards.Unnamed()
		}
		return
	}
	if cards == nil {
		cards = &demand.Cards{} // those that it has are gone from the cluster
	}
	known.cards = &podCards{Cards: cards, choices: cards.Choices()}
	if before != nil {
		c := known.cards
		c.part.Amounts, c.charged, c.settled = before.part.Amounts, before.charged, before.settled
		p.remembered(known)
	}
}

// remembered makes what a pod is charged outlive changes of the pod.
func (p *plugin) remembered(known *pod) {
	if !known.cards.remembered {
		known.cards.remembered = true
		p.process.placed[known.object.UID] = known
	}
}

// settle makes the part of a pod that has a node what the node has. What it was charged before
// stays as it is.
func (p *plugin) settle(known *pod, task *api.TaskInfo) {
	c := known.cards
	if c == nil {
		return
	}
	c.settled = true
	if len(c.charged) >= len(c.Requests) {
		return
	}
	node := p.process.cards.fleet.Node(task.NodeName)
	amounts := slices.Clone(c.part.Amounts)
	for _, r := range c.Requests {
		name, found := node.Of(r.Resource)
		if !found || slices.Contains(c.charged, r.Resource) {
			continue
		}
		var err error
		if amounts, err = amounts.Plus(p.process.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: name}), ledger.Units(r.Count)); err != nil {
			klog.ErrorS(err, "Failed to count the cards of a pod", "pod", klog.KObj(task.Pod))
			return
		}
		c.charged = append(c.charged, r.Resource)
	}
	c.part.Amounts = amounts
}

// unsettle forgets what a pod was charged that has no node any more.
func (p *plugin) unsettle(known *pod) {
	c := known.cards
	if c == nil {
		return
	}
	c.part.Amounts, c.charged, c.settled = nil, nil, false
	if c.remembered {
		c.remembered = false
		delete(p.process.placed, known.object.UID)
	}
}

// loadCards finds out what a pod is charged as a session begins. It reports whether the pod waits for
// cards, or has some.
func (p *plugin) loadCards(known *pod, task *api.TaskInfo) (waits, has bool) {
	c := known.cards
	if c == nil {
		return false, false
	}
	if c.placed = api.AllocatedStatus(task.Status) || task.Status == api.Releasing; !c.placed {
		p.unsettle(known)
		return c.Unnamed() == "" && len(c.Requests) > 0, false
	}
	p.settle(known, task)
	p.remembered(known)
	if task.Status == api.Releasing && p.ledger.ListsCards(known.queue) {
		p.leave(&c.part, leaving{queue: known.queue, holder: holderOf(task)})
	}
	return false, len(c.charged) > 0
}
