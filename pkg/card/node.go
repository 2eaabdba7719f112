package card

import (
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
)

// Node is what device plugins offer on a node.
type Node struct {
	// Model is the node's card model; empty if it has none, or if it cannot be told.
	Model string
	// Offers are sorted by resource. Every resource occurs once at most.
	Offers []Offer
	// Problems say what is wrong with the node, and what to change; cards that they are about are not
	// among the offers.
	Problems []string
}

// Offer is an amount of cards of one name.
type Offer struct {
	Resource corev1.ResourceName
	Card     string
	// Count is what the node has allocatable, zero included.
	Count int64
}

// Read finds out which cards a node offers. Its model is what a label <vendor>/<kind>.product says.
// Of the vendor's resources in status.allocatable those are cards that are named like a way of
// sharing cards (see schemes), and one that stands for whole cards: <vendor>/<kind> or else the
// one whose name, but for case and punctuation, the model's begins with. With resource names given,
// it is those that match, of any vendor, and every one that is no share stands for whole cards.
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

// wholeOf is the resource that stands for whole cards, so that other things that a vendor's device
// plugins hand out, such as RDMA devices, are not taken for cards.
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

// plain leaves letters and digits, in lower case.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// Of returns the card that a resource stands for on the node; false if it stands for none. The node may
// be nil.
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

// Has reports whether the node is of that model or offers that card. The node may be nil.
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
