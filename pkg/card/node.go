// SPDX-License-Identifier: Apache-2.0

package card

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
)

// Node describes the cards that device plugins offer on a node.
type Node struct {
	// Model is the node's card model. It is empty if the node has no cards or its labels are ambiguous.
	Model string
	// Offers are sorted by resource, with at most one entry per resource.
	Offers []Offer
	// Problems describe mistakes in the node's labels and their correction. Offers leave out cards with a problem.
	Problems []string

	// labels are all labels of the node.
	labels map[string]string
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
// If names is nil, the cards are resources of this vendor in status.allocatable. They are all resources with a name for shares of
// cards (see schemes), and one resource for whole cards. The resource for whole cards is <vendor>/<kind>. If the node does not have
// it, it is the resource whose name is a prefix of the model, ignoring case and punctuation. If names is not nil, the cards are the
// resources of any vendor that match names. A resource with a name for shares stands for shares, any other for whole cards.
func Read(node *corev1.Node, names ResourceNames) Node {
	l, problems := readLabels(node.Labels)
	n := Node{Model: l.model, Problems: problems, labels: node.Labels}
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

// wholeOf returns the resource for whole cards. Device plugins of the vendor may offer other resources too, such as RDMA devices.
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

// Of returns the card that the node offers under a resource. It returns false if the resource is not a card there. The node may be nil.
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

// Has reports whether the node has this model or offers this card. The node may be nil.
func (n *Node) Has(card string) bool {
	if n == nil {
		return false
	}
	return n.Model == card || slices.ContainsFunc(n.Offers, func(o Offer) bool { return o.Card == card })
}

func (n *Node) same(other *Node) bool {
	return n.Model == other.Model && slices.Equal(n.Offers, other.Offers) && slices.Equal(n.Problems, other.Problems) && maps.Equal(n.labels, other.labels)
}
