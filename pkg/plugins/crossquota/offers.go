// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/klog/v2"
)

// selectors are keyed by their text, so that two sets can be compared.
type selectors map[string]*nodeaffinity.NodeSelector

func (all selectors) match(node *corev1.Node) bool {
	for _, s := range all {
		if s.Match(node) {
			return true
		}
	}
	return false
}

// offers is the set of nodes that can reach devices that count as GPUs. Nil is the empty set.
type offers struct {
	nodes     map[string]bool
	selectors selectors
	// everywhere is set if every node can reach such a device.
	everywhere bool
}

func (o *offers) on(node *corev1.Node) bool {
	if o == nil {
		return false
	}
	return o.everywhere || o.nodes[node.Name] || o.selectors.match(node)
}

// same reports whether two offers are equal, so that facts about nodes need no update.
func (o *offers) same(other *offers) bool {
	sameText := func(*nodeaffinity.NodeSelector, *nodeaffinity.NodeSelector) bool { return true }
	return other != nil && o.everywhere == other.everywhere && maps.Equal(o.nodes, other.nodes) &&
		maps.EqualFunc(o.selectors, other.selectors, sameText)
}

func newOffers() *offers { return &offers{nodes: map[string]bool{}, selectors: selectors{}} }

func (o *offers) add(r *reach) {
	for _, name := range r.nodes {
		o.nodes[name] = true
	}
	maps.Copy(o.selectors, r.selectors)
	o.everywhere = o.everywhere || r.everywhere
}

// reach is the set of nodes that can reach those devices of one ResourceSlice that count as GPUs.
type reach struct {
	nodes      []string
	selectors  selectors
	everywhere bool
}

// newReach reads a slice. Matches reports whether a device of a driver counts as GPU.
func newReach(spec *resourceapi.ResourceSliceSpec, matches func(driver string, device *resourceapi.Device) bool) *reach {
	r := &reach{selectors: selectors{}}
	perDevice := spec.PerDeviceNodeSelection != nil && *spec.PerDeviceNodeSelection
	for i := range spec.Devices {
		device := &spec.Devices[i]
		if !matches(spec.Driver, device) {
			continue
		}
		if !perDevice {
			r.from(spec.NodeName, spec.NodeSelector, spec.AllNodes)
			break // all devices of the slice have the same nodes
		}
		r.from(device.NodeName, device.NodeSelector, device.AllNodes)
	}
	return r
}

// from adds the nodes that can reach a device: one node, those that a selector matches, or all.
func (r *reach) from(name *string, selected *corev1.NodeSelector, all *bool) {
	switch {
	case name != nil && *name != "":
		r.nodes = append(r.nodes, *name)
	case selected != nil:
		selector, err := nodeaffinity.NewNodeSelector(selected)
		if err != nil { // unexpected: the API server validates selectors
			klog.ErrorS(err, "Failed to parse the node selector of a ResourceSlice", "plugin", Name)
			return
		}
		r.selectors[selected.String()] = selector
	case all != nil && *all:
		r.everywhere = true
	}
}

// classMatcher evaluates the selectors of DeviceClasses.
type classMatcher struct {
	classes []*resourceapi.DeviceClass
	cache   *cel.Cache
}

// matches reports whether a device belongs to any of the classes.
func (m *classMatcher) matches(driver string, device *resourceapi.Device) bool {
	input := cel.Device{Driver: driver, AllowMultipleAllocations: device.AllowMultipleAllocations, Attributes: device.Attributes, Capacity: device.Capacity}
	for _, class := range m.classes {
		if m.inClass(class, input) {
			return true
		}
	}
	return false
}

// inClass follows the DeviceClass API: all selectors must be true, and a selector whose evaluation
// fails is not.
func (m *classMatcher) inClass(class *resourceapi.DeviceClass, device cel.Device) bool {
	for _, selector := range class.Spec.Selectors {
		if selector.CEL == nil {
			return false // a kind of selector that this version does not support
		}
		compiled := m.cache.GetOrCompile(selector.CEL.Expression)
		if compiled.Error != nil {
			klog.ErrorS(compiled.Error, "Failed to compile a selector of a DeviceClass", "plugin", Name, "class", class.Name)
			return false
		}
		if holds, _, err := compiled.DeviceMatches(context.Background(), device); err != nil || !holds {
			return false
		}
	}
	return true
}
