package demand

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Cards is what a pod asks for of cards that device plugins hand out.
type Cards struct {
	// Names are the cards of which it may get one, the preferred one first; nil if any will do. The
	// pod runs on nodes that have one of them only.
	Names []string
	// Requests have an entry for each resource that stands for cards.
	Requests []CardRequest
}

// CardRequest is an amount of one resource, which stands for another card on every node.
type CardRequest struct {
	Resource corev1.ResourceName
	// Count is more than zero.
	Count int64
	// Among are the cards that it may be, the preferred one first; none while no node's labels say
	// which card the resource is.
	Among []Card
}

// Card is a card and its dimension in the ledger.
type Card struct {
	Name    string
	Ordinal ledger.Ordinal
}

// UnknownCardError says that a pod names only cards that no node has. They may arrive.
type UnknownCardError struct {
	names, known []string
}

// Error implements error.
func (e *UnknownCardError) Error() string {
	there := "no node has any cards"
	if len(e.known) > 0 {
		there = "the nodes have " + strings.Join(e.known, ", ")
	}
	return fmt.Sprintf("no node has a card %s: it waits for one, or correct its annotation %s; %s", strings.Join(e.names, " or "), card.NameAnnotation, there)
}

// CardsOf returns what a pod with those annotations, or a template, asks for of the cards that a fleet
// has; nil if nothing. The amounts are the pod's effective requests, those of init and sidecar
// containers and overhead included. The error says what is wrong with the annotation, or is an
// UnknownCardError.
func CardsOf(annotations map[string]string, spec *corev1.PodSpec, fleet *card.Fleet, dimensions *ledger.Dimensions) (*Cards, error) {
	cards := &Cards{}
	text, names := annotations[card.NameAnnotation]
	if names {
		var err error
		if cards.Names, err = card.Names(text); err != nil {
			return nil, fmt.Errorf("its annotation %s is wrong %w", card.NameAnnotation, err)
		}
	}
	requests := requested(spec, fleet)
	if names && len(requests) == 0 && len(spec.ResourceClaims) > 0 {
		return nil, nil // its claims say what it gets
	}
	named, err := resourceOf(cards.Names, fleet)
	if err != nil {
		return nil, fmt.Errorf("its annotation %s is wrong: %w", card.NameAnnotation, err)
	}
	if names && !slices.ContainsFunc(cards.Names, fleet.Known) {
		return nil, &UnknownCardError{names: cards.Names, known: fleet.Names()}
	}
	for _, r := range requests {
		among := fleet.CardsOf(r.Resource)
		if slices.Contains(named, r.Resource) {
			among = slices.DeleteFunc(slices.Clone(cards.Names), func(name string) bool { return !slices.Contains(among, name) })
		}
		for _, name := range among {
			r.Among = append(r.Among, Card{name, dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: name})})
		}
		cards.Requests = append(cards.Requests, r)
	}
	if !names && len(cards.Requests) == 0 {
		return nil, nil
	}
	return cards, nil
}

// requested is what a pod asks for of resources that stand for cards, sorted by resource.
func requested(spec *corev1.PodSpec, fleet *card.Fleet) []CardRequest {
	var requests []CardRequest
	for name, quantity := range resourcehelper.PodRequests(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{SkipPodLevelResources: true}) {
		if quantity.Sign() > 0 && fleet.IsCard(name) {
			requests = append(requests, CardRequest{Resource: name, Count: quantity.Value()})
		}
	}
	slices.SortFunc(requests, func(a, b CardRequest) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	return requests
}

// resourceOf returns the resources that stand for each of the cards named, as far as those are known.
// There must be one, or else the device plugins would hand out one card of each kind.
func resourceOf(names []string, fleet *card.Fleet) ([]corev1.ResourceName, error) {
	var common []corev1.ResourceName
	first := ""
	for _, name := range names {
		resources := fleet.ResourcesOf(name)
		if len(resources) == 0 {
			continue
		}
		if first == "" {
			first, common = name, resources
			continue
		}
		before := common[0]
		common = slices.DeleteFunc(common, func(r corev1.ResourceName) bool { return !slices.Contains(resources, r) })
		if len(common) == 0 {
			return nil, fmt.Errorf("%s and %s are cards of different resources, %s and %s, and a pod that requests both gets one card of each: name cards of one resource only",
				first, name, before, resources[0])
		}
	}
	return common, nil
}

// Position returns the place of the node's card among those that the pod names; false if the pod must
// not run there. A pod that names none may run anywhere.
func (c *Cards) Position(node *card.Node) (int, bool) {
	if len(c.Names) == 0 {
		return 0, true
	}
	position := slices.IndexFunc(c.Names, node.Has)
	return position, position >= 0
}

// Named reports whether the pod requests any card of which somebody knows the name.
func (c *Cards) Named() bool {
	return slices.ContainsFunc(c.Requests, func(r CardRequest) bool { return len(r.Among) > 0 })
}

// Unnamed returns a resource of which nobody knows the cards; empty if there is none.
func (c *Cards) Unnamed() corev1.ResourceName {
	for _, r := range c.Requests {
		if len(r.Among) == 0 {
			return r.Resource
		}
	}
	return ""
}

// Preferred is what the pod is charged if it gets the cards that it prefers.
func (c *Cards) Preferred() ledger.Amounts {
	var amounts ledger.Amounts
	for _, r := range c.Requests {
		if len(r.Among) == 0 {
			continue
		}
		amounts = append(amounts, ledger.Entry{Dimension: r.Among[0].Ordinal, Amount: ledger.Units(r.Count)})
	}
	return amounts
}

// Choices returns a part for each resource, with an alternative for each card that it may be. They
// are for checks only: what is charged is what the node has.
func (c *Cards) Choices() []*ledger.Part {
	var parts []*ledger.Part
	for _, r := range c.Requests {
		part := &ledger.Part{}
		for _, among := range r.Among {
			part.Alternatives = append(part.Alternatives, ledger.Amounts{{Dimension: among.Ordinal, Amount: ledger.Units(r.Count)}})
		}
		if len(part.Alternatives) == 1 {
			part.Amounts, part.Alternatives = part.Alternatives[0], nil
		}
		parts = append(parts, part)
	}
	return parts
}

// Least is what any number of jobs' pods ask for of cards in sum: amounts of cards without a choice,
// and splits of those with one.
type Least struct {
	Amounts ledger.Amounts
	Splits  []ledger.Split
}

// Add adds what so many pods ask for.
func (l *Least) Add(c *Cards, pods int64) error {
	for _, r := range c.Requests {
		if err := l.add(r.Among, pods, r.Count); err != nil {
			return err
		}
	}
	return nil
}

func (l *Least) add(among []Card, shares, each int64) error {
	if len(among) == 0 {
		return nil // its pods wait until somebody knows, and say so
	}
	if len(among) == 1 {
		amount, err := ledger.Units(each).Times(shares)
		if err == nil {
			l.Amounts, err = l.Amounts.Plus(among[0].Ordinal, amount)
		}
		return err
	}
	split := ledger.Split{Shares: shares, Each: each}
	for _, c := range among {
		split.Among = append(split.Among, c.Ordinal)
	}
	for i := range l.Splits {
		if s := &l.Splits[i]; s.Each == each && slices.Equal(s.Among, split.Among) {
			if s.Shares > math.MaxInt64-shares {
				return ledger.ErrOverflow
			}
			s.Shares += shares
			return nil
		}
	}
	l.Splits = append(l.Splits, split)
	return nil
}

// Empty reports whether nothing is asked for.
func (l *Least) Empty() bool {
	return len(l.Amounts) == 0 && len(l.Splits) == 0
}

// Without returns what is still needed of it when so much has been charged already.
func (l *Least) Without(charged ledger.Amounts) Least {
	rest := Least{Amounts: l.Amounts.Beyond(charged, nil)}
	spare := charged.Beyond(l.Amounts, nil)
	for _, s := range l.Splits {
		for i := range spare {
			if !slices.Contains(s.Among, spare[i].Dimension) {
				continue
			}
			covered := spare[i].Amount.Shares(s.Each, s.Shares)
			if taken, err := ledger.Units(s.Each).Times(covered); err == nil {
				spare[i].Amount, _ = spare[i].Amount.Sub(taken)
				s.Shares -= covered
			}
		}
		if s.Shares > 0 {
			rest.Splits = append(rest.Splits, s)
		}
	}
	return rest
}

// OfRequest returns what a job that has no pods yet says itself of the cards that it needs, in an
// annotation of its PodGroup; nothing without that. The error says where the annotation is wrong.
func OfRequest(annotations map[string]string, fleet *card.Fleet, dimensions *ledger.Dimensions) (Least, error) {
	text, carries := annotations[card.RequestAnnotation]
	if !carries {
		return Least{}, nil
	}
	numbers, err := card.Numbers(text)
	if err != nil {
		return Least{}, fmt.Errorf("its annotation %s is wrong %w", card.RequestAnnotation, err)
	}
	var least Least
	for _, n := range numbers {
		if err := least.addNumber(n, fleet, dimensions); err != nil {
			return Least{}, fmt.Errorf("its annotation %s is wrong in %q: %w", card.RequestAnnotation, n.Card, err)
		}
	}
	return least, nil
}

func (l *Least) addNumber(n card.Number, fleet *card.Fleet, dimensions *ledger.Dimensions) error {
	names, err := card.Names(n.Card)
	if err == nil {
		_, err = resourceOf(names, fleet)
	}
	if err != nil || n.Count == 0 {
		return err
	}
	var among []Card
	for _, name := range names {
		d := ledger.Dimension{Kind: ledger.Card, Name: name}
		// Names that neither a quota nor a node has would stay in memory for ever.
		if _, listed := dimensions.Known(d); listed || fleet.Known(name) {
			among = append(among, Card{name, dimensions.Ordinal(d)})
		}
	}
	return l.add(among, n.Count, 1)
}
