// SPDX-License-Identifier: Apache-2.0

package members

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// cardCount counts the cards that device plugins offer in a member. A change costs as much as the node that it is about.
type cardCount struct {
	names card.ResourceNames
	nodes map[string]*cardNode
	// pods are those that have a node and request something that may be cards, by namespace/name.
	pods    map[string]cardPod
	amounts figures
}

// cardNode is a node, or one of which only pods are known so far.
type cardNode struct {
	offers card.Node
	known  bool
	// pods is how many pods there are, requested what all of them request.
	pods      int
	requested map[corev1.ResourceName]int64
	// counted is what the node adds to the amounts.
	counted figures
}

type cardPod struct {
	node     string
	requests corev1.ResourceList
}

func newCardCount(names card.ResourceNames) *cardCount {
	return &cardCount{names: names, nodes: map[string]*cardNode{}, pods: map[string]cardPod{}, amounts: figures{}}
}

func (c *cardCount) node(name string) *cardNode {
	if c.nodes[name] == nil {
		c.nodes[name] = &cardNode{requested: map[corev1.ResourceName]int64{}}
	}
	return c.nodes[name]
}

func (c *cardCount) setNode(object *corev1.Node) {
	n := c.node(object.Name)
	n.offers, n.known = card.Read(object, c.names), true
	c.recount(object.Name, n)
}

func (c *cardCount) removeNode(name string) {
	n := c.node(name)
	n.offers, n.known = card.Node{}, false
	c.recount(name, n)
}

// setPod notes a pod as the transform leaves it: one container has all requests.
func (c *cardCount) setPod(key string, pod *corev1.Pod) {
	c.removePod(key)
	if !holdsCards(pod) {
		return
	}
	p := cardPod{node: pod.Spec.NodeName, requests: pod.Spec.Containers[0].Resources.Requests}
	c.pods[key] = p
	c.add(p, 1)
}

func holdsCards(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed &&
		len(pod.Spec.Containers) > 0 && len(pod.Spec.Containers[0].Resources.Requests) > 0
}

func (c *cardCount) removePod(key string) {
	p, known := c.pods[key]
	if !known {
		return
	}
	delete(c.pods, key)
	c.add(p, -1)
}

// add adds a pod to its node, or takes it away.
func (c *cardCount) add(p cardPod, times int) {
	n := c.node(p.node)
	n.pods += times
	for name, quantity := range p.requests {
		n.requested[name] += int64(times) * quantity.Value()
	}
	c.recount(p.node, n)
}

// recount replaces what a node adds to the amounts.
func (c *cardCount) recount(name string, n *cardNode) {
	for d, f := range n.counted {
		c.amounts.minus(d, f)
	}
	n.counted = figures{}
	for _, offer := range n.offers.Offers {
		d := ledger.Dimension{Kind: ledger.Card, Name: offer.Card}
		n.counted.plus(d, ledger.Units(offer.Count), ledger.Units(n.requested[offer.Resource]))
	}
	for d, f := range n.counted {
		c.amounts.plus(d, f.total, f.used)
	}
	if !n.known && n.pods == 0 {
		delete(c.nodes, name)
	}
}

// minus takes away what plus has added. Nothing is kept of a dimension of which there is nothing.
func (f figures) minus(d ledger.Dimension, what figure) {
	was := f[d]
	was.total, _ = was.total.Sub(what.total)
	was.used, _ = was.used.Sub(what.used)
	if was == (figure{}) {
		delete(f, d)
		return
	}
	f[d] = was
}
