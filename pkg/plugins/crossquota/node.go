// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// nodeFacts is what the plugin keeps about a node until the node changes.
type nodeFacts struct {
	// object is the node that the facts were read from. A node that changes is a new object.
	object *corev1.Node
	// version is the version of the configuration and of the devices that the facts depend on.
	version uint64
	gpu     bool
	// quotas are the amounts that non-GPU pods may use; nil if the node has no GPU.
	quotas []amount
	// problems lists the errors in the node's annotations.
	problems string
}

// newNodeFacts reads a node. Offered reports whether a node can reach devices of a class that counts as
// GPU.
func (c *config) newNodeFacts(node *corev1.Node, offered func(*corev1.Node) bool) *nodeFacts {
	facts := &nodeFacts{object: node, gpu: anyMatches(c.gpuNames, node.Status.Allocatable) || offered(node)}
	if !facts.gpu {
		return facts
	}
	var problems []string
	facts.quotas = make([]amount, len(c.resources))
	for i := range c.resources {
		quota, errs := c.resources[i].quotaOn(node)
		facts.quotas[i] = quota
		for _, err := range errs {
			problems = append(problems, err.Error())
		}
	}
	facts.problems = strings.Join(problems, "; ")
	return facts
}

// quotaOn returns how much of the resource non-GPU pods may use on a node. It ignores annotations that
// are wrong, and returns an error for each.
func (r *resourceConfig) quotaOn(node *corev1.Node) (amount, []error) {
	allocatable := atMost(r.name, node.Status.Allocatable[r.name])
	counts := r.limit
	var problems []error
	// From the last source to the first, so that the first valid one wins. All are read, so that every
	// error is reported, even in a source that is not used.
	for i := len(sources) - 1; i >= 0; i-- {
		text, found := node.Annotations[r.keys[i]]
		if !found {
			continue
		}
		l, err := sources[i].parse(r.name, text)
		if err != nil {
			problems = append(problems, fallsBack("annotation", r.keys[i], text, err))
			continue
		}
		counts = &l
	}
	if counts == nil {
		return allocatable, problems
	}
	return counts.of(allocatable), problems
}
