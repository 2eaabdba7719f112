package card

import (
	"maps"
	"math/big"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Fleet is what all nodes of a cluster offer, kept up to date node by node: a change costs what that
// node has, whatever the others are. It is not safe for concurrent use while it is written. The zero
// value has no nodes.
type Fleet struct {
	// Given are the names that nodes were read with, see [Read].
	Given ResourceNames

	nodes map[string]*Node
	// cards has the cards of each resource, and of each the number of nodes that offer it so.
	cards   map[corev1.ResourceName]map[string]int
	models  map[string]int
	totals  map[string]*big.Int
	edition int
	// seen are resources that have stood for cards at some time.
	seen map[corev1.ResourceName]bool
}

// Set says what a node offers now.
func (f *Fleet) Set(name string, node Node) {
	before := f.nodes[name]
	if before != nil && before.same(&node) {
		return
	}
	if f.nodes == nil {
		f.nodes, f.models, f.seen = map[string]*Node{}, map[string]int{}, map[corev1.ResourceName]bool{}
		f.cards, f.totals = map[corev1.ResourceName]map[string]int{}, map[string]*big.Int{}
	}
	f.nodes[name] = &node
	f.count(&node, 1)
	if before != nil {
		f.count(before, -1)
	}
}

// Remove forgets a node, if there is one of that name.
func (f *Fleet) Remove(name string) {
	if node := f.nodes[name]; node != nil {
		delete(f.nodes, name)
		f.count(node, -1)
	}
}

// count adds a node to the sums, or takes it out of them.
func (f *Fleet) count(node *Node, sign int) {
	if node.Model != "" {
		f.add(f.models, node.Model, sign)
	}
	for _, o := range node.Offers {
		if f.cards[o.Resource] == nil {
			f.cards[o.Resource] = map[string]int{}
			f.seen[o.Resource] = true
		}
		f.add(f.cards[o.Resource], o.Card, sign)
		if f.totals[o.Card] == nil {
			f.totals[o.Card] = new(big.Int)
		}
		count := big.NewInt(o.Count)
		f.totals[o.Card].Add(f.totals[o.Card], count.Mul(count, big.NewInt(int64(sign))))
	}
}

func (f *Fleet) add(counts map[string]int, key string, sign int) {
	before := counts[key]
	counts[key] += sign
	if counts[key] == 0 {
		delete(counts, key)
	}
	if before == 0 || counts[key] == 0 {
		f.edition++
	}
}

// Node returns what a node offers; nil for a node that is not known. It must not be changed.
func (f *Fleet) Node(name string) *Node {
	return f.nodes[name]
}

// Edition is another number whenever a card is new, or gone, or other resources stand for it.
func (f *Fleet) Edition() int {
	return f.edition
}

// IsCard reports whether a resource stands for cards, even if at present no node's labels say for
// which: it has done so on some node, or it has one of the names that cards have.
func (f *Fleet) IsCard(resource corev1.ResourceName) bool {
	if f.Given != nil {
		return f.Given.match(resource)
	}
	return f.seen[resource] || usual.match(resource)
}

// CardsOf returns the cards that a resource stands for, sorted by name; none if no node's labels say.
func (f *Fleet) CardsOf(resource corev1.ResourceName) []string {
	return slices.Sorted(maps.Keys(f.cards[resource]))
}

// ResourcesOf returns the resources that stand for a card, sorted by name; none for a card that no
// node offers.
func (f *Fleet) ResourcesOf(card string) []corev1.ResourceName {
	var resources []corev1.ResourceName
	for resource, cards := range f.cards {
		if cards[card] > 0 {
			resources = append(resources, resource)
		}
	}
	slices.Sort(resources)
	return resources
}

// Known reports whether some node is of that model or offers that card.
func (f *Fleet) Known(card string) bool {
	return f.models[card] > 0 || len(f.ResourcesOf(card)) > 0
}

// Names returns all cards that nodes offer, sorted.
func (f *Fleet) Names() []string {
	var names []string
	for _, cards := range f.cards {
		names = slices.AppendSeq(names, maps.Keys(cards))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Totals calls yield with every card that nodes offer and how many all of them offer together.
func (f *Fleet) Totals(yield func(string, *big.Int) bool) {
	for _, card := range f.Names() {
		if !yield(card, f.totals[card]) {
			return
		}
	}
}
