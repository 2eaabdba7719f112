// SPDX-License-Identifier: Apache-2.0

package card

import (
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
)

// Node is the cards that device plugins offer on a node.
type Node struct {
	// Model is the node's card model; empty if the node has no cards or its labels are ambiguous.
	Model string
	// Offers are sorted by resource. Every resource occurs at most once.
	Offers []Offer
	// Problems say what is wrong with the node's labels and how to correct them. Cards with a problem are
	// not among the offers.
	Problems []string
}

// Offer is a number of cards that a node offers under one resource.
type Offer struct {
	Resource corev1.ResourceName
	// Card is a card name.
	Card string
	// Count is the allocatable number of cards. It may be zero.
	Count int64
}

// Read returns the cards that a node offers. The model is the value of the label <vendor>/<kind>.product.
//
// If names is nil, the cards are resources of that vendor in status.allocatable: every resource whose
// name denotes shares of cards (see schemes), and one resource for whole cards. That one is
// <vendor>/<kind>; if the node does not have it, it is the resource whose name is a prefix of the model,
// apart from case and punctuation. If names is not nil, the cards are the resources of any vendor that
// match names. Each of them is shares of cards if its name says so, else whole cards.
func Read(node *corev1.Node, names ResourceNames) Node {
	l, problems := readLabels(node.Labels)
	n := Node{Model: l.model, Problems: problems}
	if l.model == "" {
		return n
	}
	whole := wholeOf(l, node.Status.Allocatable)
	for name, quantity := range node.Status.Allocatable {
		vendor, rest, _ := strings.Cut(string(name), "/")
		offer := Offer{Resource: name, Card: l.model, Count: quantity.Value()}
		share, shared := schemeOf(vendor, rest)
		switch {
		case offer.Count < 0, names != nil && !names.match(name), names == nil && vendor != l.vendor:
			continue
		case shared:
			var err error
			if offer.Card, err = share.cardName(l.model, rest, l); err != nil {
				n.Problems = append(n.Problems, err.Error())
				continue
			}
		case names == nil && name != whole:
			continue
		}
		n.Offers = append(n.Offers, offer)
	}
	slices.SortFunc(n.Offers, func(a, b Offer) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	return n
}

// wholeOf returns the resource for whole cards. A vendor's device plugins offer other resources, too, such
// as RDMA devices.
func wholeOf(l labels, allocatable corev1.ResourceList) corev1.ResourceName {
	exact := corev1.ResourceName(l.vendor + "/" + l.kind)
	if _, offered := allocatable[exact]; offered {
		return exact
	}
	var best corev1.ResourceName
	for name := range allocatable {
		vendor, rest, _ := strings.Cut(string(name), "/")
		if vendor == l.vendor && rest != "" && strings.HasPrefix(plain(l.model), plain(rest)) && (len(name) > len(best) || len(name) == len(best) && name < best) {
			best = name
		}
	}
	return best
}

// plain returns the letters and digits of a name in lower case.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// Of returns the card that the node offers under a resource; false if the resource is not a card there.
// The node may be nil.
func (n *Node) Of(resource corev1.ResourceName) (string, bool) {
	if n == nil {
		return "", false
	}
	for i := range n.Offers {
		if n.Offers[i].Resource == resource {
			return n.Offers[i].Card, true
		}
	}
	return "", false
}

// Has reports whether the node has that model or offers that card. The node may be nil.
func (n *Node) Has(card string) bool {
	if n == nil {
		return false
	}
	return n.Model == card || slices.ContainsFunc(n.Offers, func(o Offer) bool { return o.Card == card })
}

// same reports whether two nodes offer the same cards in the same amounts.
func (n *Node) same(other *Node) bool {
	return n.Model == other.Model && slices.Equal(n.Offers, other.Offers) && slices.Equal(n.Problems, other.Problems)
}
