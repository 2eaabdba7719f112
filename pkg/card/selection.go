// SPDX-License-Identifier: Apache-2.0

package card

import (
	"maps"
	"slices"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	nodelabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Users write selectors: each different one is matched with every node, and again with those that change. That takes the longer the more text it has.
const (
	maxSelections     = 1024
	maxSelectionText  = 4096
	maxSelectionTexts = 256 * 1024
)

// Selection is what the nodeSelector and the required node affinity of a pod select. Its fleet keeps it up to date as long as the caller
// keeps it.
type Selection struct {
	required nodeaffinity.RequiredNodeAffinity
	// nodes counts the selected nodes that offer each card.
	nodes map[string]int
}

// Select returns what a pod selects. It returns nil if the pod selects all nodes, or if the fleet keeps too many selections to add one. It
// changes the fleet: calls must not be concurrent with others.
func (f *Fleet) Select(spec *corev1.PodSpec) *Selection {
	text := selectionText(spec)
	if text == "" || len(text) > maxSelectionText {
		return nil
	}
	if known := f.selections[text].Value(); known != nil {
		return known
	}
	if f.tooManyWith(text) {
		maps.DeleteFunc(f.selections, func(_ string, kept weak.Pointer[Selection]) bool { return kept.Value() == nil })
		f.selectionTexts = 0
		for known := range f.selections {
			f.selectionTexts += len(known)
		}
		if f.tooManyWith(text) {
			return nil
		}
	}
	s := &Selection{required: nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec}), nodes: map[string]int{}}
	for name, node := range f.nodes {
		s.count(name, node, 1)
	}
	if f.selections == nil {
		f.selections = map[string]weak.Pointer[Selection]{}
	}
	if _, gone := f.selections[text]; !gone {
		f.selectionTexts += len(text)
	}
	f.selections[text] = weak.Make(s)
	return s
}

func (f *Fleet) tooManyWith(text string) bool {
	return len(f.selections) >= maxSelections || f.selectionTexts+len(text) > maxSelectionTexts
}

// selectionText returns a text that is the same only for pods that select the same nodes. It is empty for pods that select all.
func selectionText(spec *corev1.PodSpec) string {
	text := ""
	if len(spec.NodeSelector) > 0 {
		text = nodelabels.Set(spec.NodeSelector).String()
	}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil && spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		text += "\n" + spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.String()
	}
	return text
}

// Of returns the cards of a list that selected nodes offer. It returns the list if there are none: a node with one of them may join later.
func (s *Selection) Of(cards []string) []string {
	if s == nil {
		return cards
	}
	selected := slices.DeleteFunc(slices.Clone(cards), func(card string) bool { return s.nodes[card] == 0 })
	if len(selected) == 0 {
		return cards
	}
	return selected
}

// count adds a node if sign is 1, and subtracts it if sign is -1. It reports whether a card appears or disappears. A selection that Kubernetes
// would refuse selects nothing.
func (s *Selection) count(name string, node *Node, sign int) bool {
	if len(node.Offers) == 0 {
		return false
	}
	if match, err := s.required.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: node.labels}}); err != nil || !match {
		return false
	}
	changed := false
	for _, offer := range node.Offers {
		before := s.nodes[offer.Card]
		s.nodes[offer.Card] += sign
		changed = changed || before == 0 || s.nodes[offer.Card] == 0
	}
	return changed
}
