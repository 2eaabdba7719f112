// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// NodesWithDevices finds the nodes that can reach a device of any of several classes, free or not. Devices count as soon as one
// ResourceSlice lists them. A node keeps its devices while the driver publishes their pool again.
type NodesWithDevices struct {
	celCache *cel.Cache
	classes  []*compiledClass
	// matching holds the devices of each slice that match a class. A changed slice is another object.
	matching map[*resourceapi.ResourceSlice][]*resourceapi.Device
	nodes    reach
}

// NewNodesWithDevices returns a NodesWithDevices that finds no nodes before the first Update.
func NewNodesWithDevices(celCache *cel.Cache) *NodesWithDevices {
	return &NodesWithDevices{celCache: celCache}
}

// Update reads classes and slices, and reports whether the nodes may have changed.
func (n *NodesWithDevices) Update(classes []*resourceapi.DeviceClass, all []*resourceapi.ResourceSlice) bool {
	if !slices.EqualFunc(n.classes, classes, (*compiledClass).is) {
		n.useClasses(classes)
	}
	matching, nodes := make(map[*resourceapi.ResourceSlice][]*resourceapi.Device, len(all)), newReach(1)
	for _, slice := range all {
		devices, known := n.matching[slice]
		if !known {
			devices = n.matchingIn(&understood(slice).Spec)
		}
		matching[slice] = devices
		for _, device := range devices {
			if to := nodes.of(&slice.Spec, device); to != nil {
				to[0] = 1
			}
		}
	}
	changed := !n.nodes.equal(nodes)
	n.matching, n.nodes = matching, nodes
	return changed
}

func (n *NodesWithDevices) useClasses(classes []*resourceapi.DeviceClass) {
	n.classes, n.matching = nil, nil
	for _, class := range classes {
		compiled := compile(class, n.celCache)
		if compiled.err != nil {
			klog.ErrorS(compiled.err, "The selectors of a DeviceClass cannot be evaluated, no device matches it", "class", class.Name)
		}
		n.classes = append(n.classes, compiled)
	}
}

// matchingIn returns the devices of a slice that match a class. If all have the same nodes, it returns only one of them.
func (n *NodesWithDevices) matchingIn(spec *resourceapi.ResourceSliceSpec) []*resourceapi.Device {
	var devices []*resourceapi.Device
	for i := range spec.Devices {
		device := &spec.Devices[i]
		if !slices.ContainsFunc(n.classes, func(c *compiledClass) bool { return c.matches(spec.Driver, device) }) {
			continue
		}
		devices = append(devices, device)
		if !ptr.Deref(spec.PerDeviceNodeSelection, false) {
			break
		}
	}
	return devices
}

// Has reports whether a node can reach such a device.
func (n *NodesWithDevices) Has(node *corev1.Node) bool {
	return n.nodes.size > 0 && n.nodes.on(node)[0] > 0
}
