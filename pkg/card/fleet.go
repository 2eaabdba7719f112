// SPDX-License-Identifier: Apache-2.0

package card

import (
	"maps"
	"math/big"
	"slices"
	"weak"

	corev1 "k8s.io/api/core/v1"
)

// Fleet sums up the cards that all nodes of a cluster offer. The cost of an update depends only on the changed node.
// Concurrent reads are safe, but not during a write. The zero value has no nodes.
type Fleet struct {
	// Given holds the resource names that nodes were read with, see [Read], or nil.
	Given ResourceNames

	nodes map[string]*Node
	// cards counts, for each resource and card, the nodes that offer the card under the resource.
	cards      map[corev1.ResourceName]map[string]int
	models     map[string]int
	totals     map[string]*big.Int
	generation int
	// seen holds the resources that were cards on any node so far.
	seen map[corev1.ResourceName]bool
	// selections are those of pods by their text. A selection that no pod keeps is gone.
	selections map[string]weak.Pointer[Selection]
	// selectionTexts is the length of these texts together.
	selectionTexts int
}

// Set adds a node, or replaces its offers.
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
	f.count(name, &node, 1)
	if before != nil {
		f.count(name, before, -1)
	}
}

// Remove removes a node. It does nothing if the node does not exist.
func (f *Fleet) Remove(name string) {
	if node := f.nodes[name]; node != nil {
		delete(f.nodes, name)
		f.count(name, node, -1)
	}
}

// count adds a node to the sums if sign is 1, and subtracts it if sign is -1.
func (f *Fleet) count(name string, node *Node, sign int) {
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
	for _, kept := range f.selections {
		if s := kept.Value(); s != nil && s.count(name, node, sign) {
			f.generation++
		}
	}
}

func (f *Fleet) add(counts map[string]int, key string, sign int) {
	before := counts[key]
	counts[key] += sign
	if counts[key] == 0 {
		delete(counts, key)
	}
	if before == 0 || counts[key] == 0 {
		f.generation++
	}
}

// Node returns the offers of a node, or nil if the node does not exist. Callers must not change the result.
func (f *Fleet) Node(name string) *Node {
	return f.nodes[name]
}

// Generation returns a number that changes whenever a card appears or disappears, among all nodes or among those that a pod selects, or is
// offered under other resources.
func (f *Fleet) Generation() int {
	return f.generation
}

// IsCard reports whether a resource stands for cards. If Given is not nil, the resource must match it. Otherwise, the
// resource must have been a card on some node, or have a usual name of cards. No node needs a label with the model.
func (f *Fleet) IsCard(resource corev1.ResourceName) bool {
	if f.Given != nil {
		return f.Given.match(resource)
	}
	return f.seen[resource] || usual.match(resource)
}

// CardsOf returns the cards that nodes offer under a resource, sorted by name. It is empty if no node has a label with the model.
func (f *Fleet) CardsOf(resource corev1.ResourceName) []string {
	return slices.Sorted(maps.Keys(f.cards[resource]))
}

// ResourcesOf returns the resources under which nodes offer a card, sorted by name. It is empty if no node
// offers the card.
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

// Known reports whether any node has this model or offers this card.
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

// Totals calls yield with every card that nodes offer and its sum over all nodes. Callers must not change the sum.
func (f *Fleet) Totals(yield func(string, *big.Int) bool) {
	for _, card := range f.Names() {
		if !yield(card, f.totals[card]) {
			return
		}
	}
}
