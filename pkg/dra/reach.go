// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// reach counts devices for the nodes that can reach them.
type reach struct {
	// size is the number of values in all counts.
	size int
	// onNode holds the devices of single nodes. selected holds the devices of nodes that match a selector, by the text of the
	// selector. everywhere holds the devices of all nodes.
	onNode     map[string]counts
	selected   map[string]*selectedCounts
	everywhere counts
}

// counts holds one number per counted thing. Nil means all zeros.
type counts []int64

func (c counts) add(other counts) {
	for i, n := range other {
		c[i] += n
	}
}

// selectedCounts are the counts of the nodes that match a selector.
type selectedCounts struct {
	selector *nodeaffinity.NodeSelector
	counts   counts
}

func newReach(size int) reach {
	return reach{size: size, onNode: map[string]counts{}, selected: map[string]*selectedCounts{}}
}

// of returns the counts of the nodes that can reach a device of a slice: one node, the nodes that match a selector, or all nodes. It is nil
// if no node can reach the device.
func (r *reach) of(spec *resourceapi.ResourceSliceSpec, device *resourceapi.Device) counts {
	name, selected, all := spec.NodeName, spec.NodeSelector, spec.AllNodes
	if ptr.Deref(spec.PerDeviceNodeSelection, false) {
		name, selected, all = device.NodeName, device.NodeSelector, device.AllNodes
	}
	switch {
	case ptr.Deref(name, "") != "":
		if r.onNode[*name] == nil {
			r.onNode[*name] = make(counts, r.size)
		}
		return r.onNode[*name]
	case ptr.Deref(all, false):
		if r.everywhere == nil {
			r.everywhere = make(counts, r.size)
		}
		return r.everywhere
	case selected != nil:
		return r.selectedBy(selected)
	}
	return nil
}

func (r *reach) selectedBy(selected *corev1.NodeSelector) counts {
	text := selected.String()
	if known := r.selected[text]; known != nil {
		return known.counts
	}
	selector, err := nodeaffinity.NewNodeSelector(selected)
	if err != nil { // unexpected: the API server validates selectors
		klog.ErrorS(err, "Failed to parse the node selector of a ResourceSlice, no node can reach its devices", "selector", text)
		return nil
	}
	of := &selectedCounts{selector: selector, counts: make(counts, r.size)}
	r.selected[text] = of
	return of.counts
}

// on sums up the devices that a node can reach.
func (r *reach) on(node *corev1.Node) counts {
	sum := make(counts, r.size)
	sum.add(r.onNode[node.Name])
	sum.add(r.everywhere)
	for _, s := range r.selected {
		if s.selector.Match(node) {
			sum.add(s.counts)
		}
	}
	return sum
}

// equal reports whether two reaches are the same for every node.
func (r *reach) equal(other reach) bool {
	sameCounts := func(a, b counts) bool { return slices.Equal(a, b) }
	return slices.Equal(r.everywhere, other.everywhere) && maps.EqualFunc(r.onNode, other.onNode, sameCounts) &&
		maps.EqualFunc(r.selected, other.selected, func(a, b *selectedCounts) bool { return slices.Equal(a.counts, b.counts) })
}
