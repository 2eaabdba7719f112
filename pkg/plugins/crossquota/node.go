package crossquota

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// nodeFacts is what is remembered of a node until it changes.
type nodeFacts struct {
	// object is the node that they are about; a node that changes is another object.
	object *corev1.Node
	// version is that of the configuration and the devices that they are made with.
	version uint64
	gpu     bool
	// quotas are what non-GPU pods may take; nil of other nodes.
	quotas []amount
	// problems says what is wrong with the node's annotations.
	problems string
}

// newNodeFacts looks at a node. offered says of any node whether it has devices of a class that
// counts as GPU.
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

// quotaOn is what non-GPU pods may take of the resource on a node. Annotations that are wrong do
// not count.
func (r *resourceConfig) quotaOn(node *corev1.Node) (amount, []error) {
	allocatable := atMost(r.name, node.Status.Allocatable[r.name])
	counts := r.limit
	var problems []error
	// From the last to the first, so that the first that is right stays. All are read, because one
	// that is wrong is worth knowing before it is needed.
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
