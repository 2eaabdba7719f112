package capacity

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// mostAlternatives bounds how many cards a message names.
const mostAlternatives = 5

// cardRefusals has for each resource that a pod requests, and for each card that it may be, why the
// quota does not allow it; nil where it does. It is nil where no queue limits cards.
type cardRefusals [][]*ledger.Refusal

// refuseCards asks for each card by itself, once for a pod, so that nodes need only look.
func (p *plugin) refuseCards(books *ledger.Ledger, queue ledger.QueueID, known *pod) (cardRefusals, error) {
	refusals := make(cardRefusals, len(known.cards.Requests))
	for i, r := range known.cards.Requests {
		refusals[i] = make([]*ledger.Refusal, len(r.Among))
		for j := range r.Among {
			part := &ledger.Part{Amounts: ledger.Amounts{{Dimension: r.Among[j].Ordinal, Amount: ledger.Units(r.Count)}}}
			refusal, err := books.Fits(queue, append(known.checks[:len(known.checks):len(known.checks)], part))
			if err != nil {
				return nil, err
			}
			refusals[i][j] = refusal
		}
	}
	return refusals, nil
}

// predicateCards says why a pod must not take the cards of a node: it wants others, the quota does not
// allow these, or nobody knows which they are and there is a quota. Nodes where no eviction would
// help are told apart, so that nobody is evicted there for nothing.
func (p *plugin) predicateCards(a *attempt, task *api.TaskInfo, node *api.NodeInfo) error {
	cards, has := a.known.cards, p.process.cards.fleet.Node(node.Name)
	if _, ok := cards.Position(has); !ok {
		return unfit(task, node, api.UnschedulableAndUnresolvable, "has no card "+strings.Join(cards.Names, " or "))
	}
	if a.cards == nil {
		return nil
	}
	for i, r := range cards.Requests {
		name, found := has.Of(r.Resource)
		if !found {
			if node.Allocatable.ScalarResources[r.Resource] > 0 {
				return unfit(task, node, api.UnschedulableAndUnresolvable, fmt.Sprintf("hands out %s, but its labels do not say which card that is, and the queue limits cards", r.Resource))
			}
			continue
		}
		j := slices.IndexFunc(r.Among, func(among demand.Card) bool { return among.Name == name })
		if j < 0 {
			return unfit(task, node, api.UnschedulableAndUnresolvable, "has no card that the pod names for "+string(r.Resource))
		}
		if refusal := a.cards[i][j]; refusal != nil {
			code := api.UnschedulableAndUnresolvable
			if refusal.Dimension.Kind != ledger.Card || p.holds(refusal.Queue, r.Among[j].Ordinal, node) {
				code = api.Unschedulable
			}
			return unfit(task, node, code, refusal.String())
		}
	}
	if len(cards.Requests) > 1 {
		return p.predicateTogether(a, task, node)
	}
	return nil
}

// holds reports whether a pod on the node, of the queue or one below it, holds such cards: only its going
// would make room in the queue.
func (p *plugin) holds(queue string, o ledger.Ordinal, node *api.NodeInfo) bool {
	id, found := p.ledger.Queue(queue)
	if !found {
		return false
	}
	for _, task := range node.Tasks {
		known := p.process.pods[task.Pod]
		if known == nil || known.cards == nil || !known.inLedger || !p.ledger.Within(known.queue, id) {
			continue
		}
		if known.cards.part.Amounts.Of(o).Sign() > 0 {
			return true
		}
	}
	return false
}

// predicateTogether checks all cards of a node together, because two resources may stand for the same
// card.
func (p *plugin) predicateTogether(a *attempt, task *api.TaskInfo, node *api.NodeInfo) error {
	refusal, err := a.books.Fits(a.queue, p.withCardsOf(a, node.Name))
	switch {
	case err != nil:
		return unfit(task, node, api.Unschedulable, err.Error())
	case refusal != nil:
		return unfit(task, node, api.Unschedulable, refusal.String())
	default:
		return nil
	}
}

// withCardsOf is what must fit if the pod gets the cards of a node.
func (p *plugin) withCardsOf(a *attempt, node string) ledger.Demand {
	d := append(ledger.Demand(nil), a.known.checks...)
	if a.cards == nil {
		return d
	}
	return append(d, a.known.cards.partOn(p.process.cards.fleet.Node(node)))
}

// partOn is what the pod would be charged on a node.
func (c *podCards) partOn(node *card.Node) *ledger.Part {
	part := &ledger.Part{}
	for _, r := range c.Requests {
		name, _ := node.Of(r.Resource)
		for _, among := range r.Among {
			if among.Name == name {
				part.Amounts = plus(part.Amounts, ledger.Amounts{{Dimension: among.Ordinal, Amount: ledger.Units(r.Count)}})
			}
		}
	}
	return part
}

// shortOf is short for a pod. If it may choose among cards, the message is about the first one of which
// the queue may have any, and names the others; refusals has why each is refused, or is nil.
func (p *plugin) shortOf(queue ledger.QueueID, known *pod, shortage *ledger.Refusal, refusals cardRefusals) refusal {
	if shortage.Dimension.Kind != ledger.Card || refusals == nil || known.cards.settled {
		return p.short(queue, shortage)
	}
	for i, r := range known.cards.Requests {
		best, others := (*ledger.Refusal)(nil), []string{}
		for j, refusal := range refusals[i] {
			if refusal == nil || refusal.Dimension.Kind != ledger.Card {
				best = nil
				break
			}
			if best == nil || best.Limit.Sign() == 0 && refusal.Limit.Sign() > 0 {
				best = refusal
			}
			others = append(others, r.Among[j].Name)
		}
		if best == nil || len(others) == 1 {
			continue
		}
		s := p.short(queue, best)
		s.message += "; nor is there quota for another card that the pod may get: " + named(others, best.Dimension.Name)
		return s
	}
	return p.short(queue, shortage)
}

// named joins names but one.
func named(names []string, but string) string {
	var others []string
	for _, name := range names {
		if name != but {
			others = append(others, name)
		}
	}
	if more := len(others) - mostAlternatives; more > 0 {
		others = append(others[:mostAlternatives], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(others, ", ")
}

// nodeOrder is Volcano's NodeOrderFn: a node with the card that the pod names first scores 100, and half
// of that with each further one.
func (p *plugin) nodeOrder(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
	known := p.process.pods[task.Pod]
	if known == nil || known.cards == nil || len(known.cards.Names) == 0 {
		return 0, nil
	}
	position, ok := known.cards.Position(p.process.cards.fleet.Node(node.Name))
	if !ok {
		return 0, nil
	}
	return p.settings.nodeOrderWeight * 100 * math.Pow(2, -float64(position)), nil
}
