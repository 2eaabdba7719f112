// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
)

// Offers holds, for each extended resource, the number of requests for one device that the devices of a node could meet
// (KEP-5004). The number ignores which devices are in use. It may therefore be too high, but never too low. Offers do not
// change and are safe for concurrent use. Nil offers nothing.
type Offers struct {
	// names lists the extended resources that classes offer, sorted. Counts have the same order.
	names   []corev1.ResourceName
	devices reach
}

// NewOffers returns the offers of the classes and devices in a catalog. It is nil if no class offers an extended resource. It
// includes implicit names of classes (deviceclass.resource.kubernetes.io/<class>) only for the wanted classes. The matcher must not
// be used for anything else.
func NewOffers(catalog *Catalog, matcher *Matcher, wanted []string) *Offers {
	names, classes := catalog.offered(wanted)
	if len(names) == 0 {
		return nil
	}
	unique := slices.Clone(classes)
	slices.Sort(unique)
	matcher.Use(catalog, slices.Compact(unique))
	o, places := &Offers{names: names, devices: newReach(len(names))}, matcher.placesOf(classes)
	for slice := range catalog.current() {
		for i := range slice.Spec.Devices {
			o.add(&slice.Spec, &slice.Spec.Devices[i], matcher, places)
		}
	}
	return o
}

// offered returns the extended resources that classes offer, sorted, with the class of each.
func (c *Catalog) offered(wanted []string) (names []corev1.ResourceName, classes []string) {
	if c == nil {
		return nil, nil
	}
	for name := range c.explicit {
		names = append(names, name)
	}
	for _, class := range wanted {
		name := corev1.ResourceName(resourceapi.ResourceDeviceClassPrefix + class)
		if _, found := c.extended[name]; found && !c.explicit[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		classes = append(classes, c.extended[name])
	}
	return names, classes
}

// current calls yield for the slices of complete pools. Kubernetes' allocator finds the latest generation of a pool among the
// slices that a node can reach. An older generation may therefore still be valid on another node.
func (c *Catalog) current() func(yield func(*resourceapi.ResourceSlice) bool) {
	type reach struct {
		pool PoolID
		node string
	}
	type published struct {
		pool       PoolID
		generation int64
	}
	latest, listed := map[reach]int64{}, map[published]int64{}
	for slice := range c.slices() {
		at := reach{poolOf(slice), ptr.Deref(slice.Spec.NodeName, "")}
		latest[at] = max(latest[at], slice.Spec.Pool.Generation)
		listed[published{at.pool, slice.Spec.Pool.Generation}]++
	}
	return func(yield func(*resourceapi.ResourceSlice) bool) {
		for slice := range c.slices() {
			pool, generation := poolOf(slice), slice.Spec.Pool.Generation
			if generation < latest[reach{pool, ptr.Deref(slice.Spec.NodeName, "")}] || listed[published{pool, generation}] < slice.Spec.Pool.ResourceSliceCount {
				continue
			}
			if !yield(slice) {
				return
			}
		}
	}
}

// slices calls yield for every slice, in no particular order.
func (c *Catalog) slices() func(yield func(*resourceapi.ResourceSlice) bool) {
	return func(yield func(*resourceapi.ResourceSlice) bool) {
		for _, slice := range c.anywhere {
			if !yield(slice) {
				return
			}
		}
		for _, own := range c.ofNode {
			for _, slice := range own {
				if !yield(slice) {
					return
				}
			}
		}
	}
}

// On returns the extended resources that DRA serves on a node, with their numbers. The node can reach devices for them, and no device
// plugin serves them there.
func (o *Offers) On(node *corev1.Node) map[corev1.ResourceName]int64 {
	return o.on(WithoutOffers(node), nil)
}

// on is On for a node in the state of the API server. inUse may be nil, see ShowOffersInUse.
func (o *Offers) on(node *corev1.Node, inUse func(corev1.ResourceName) int64) map[corev1.ResourceName]int64 {
	if o == nil {
		return nil
	}
	var on map[corev1.ResourceName]int64
	for i, count := range o.devices.on(node) {
		name := o.names[i]
		if inUse != nil {
			count = max(count, inUse(name))
		}
		if count == 0 || pluginServes(node, name) || ignoredBy(node, name) {
			continue
		}
		if on == nil {
			on = map[corev1.ResourceName]int64{}
		}
		on[name] = count
	}
	return on
}

// Offered reports whether a class offers an extended resource to nodes.
func (o *Offers) Offered(name corev1.ResourceName) bool {
	if o == nil {
		return false
	}
	_, found := slices.BinarySearch(o.names, name)
	return found
}

// Equal reports whether two offers are the same for every node.
func (o *Offers) Equal(other *Offers) bool {
	if o == nil || other == nil {
		return o == other
	}
	return slices.Equal(o.names, other.names) && o.devices.equal(other.devices)
}

// pluginServes reports whether a device plugin, and not DRA, serves an extended resource on a node. Kubelets before 1.35 reject pods with a
// resource that the node lists, even with a quantity of zero.
func pluginServes(node *corev1.Node, name corev1.ResourceName) bool {
	quantity, listed := node.Status.Allocatable[name]
	if !listed || !quantity.IsZero() {
		return listed
	}
	kubelet, err := version.ParseGeneric(node.Status.NodeInfo.KubeletVersion)
	return err != nil || kubelet.LessThan(servesUnusedSince)
}

var servesUnusedSince = version.MajorMinor(1, 35)

// ignoredBy reports whether the kubelet of a node gives containers no devices for a name. Kubelets before 1.35 do not know the
// implicit names of classes, and would start the containers without devices.
func ignoredBy(node *corev1.Node, name corev1.ResourceName) bool {
	if !strings.HasPrefix(string(name), resourceapi.ResourceDeviceClassPrefix) {
		return false
	}
	kubelet, err := version.ParseGeneric(node.Status.NodeInfo.KubeletVersion)
	return err == nil && kubelet.LessThan(servesUnusedSince)
}

// add counts a device for the extended resources whose classes it matches. These classes have places in the matcher.
func (o *Offers) add(spec *resourceapi.ResourceSliceSpec, device *resourceapi.Device, matcher *Matcher, places []int) {
	matching := matcher.matchesOf(DeviceID{spec.Driver, spec.Pool.Name, device.Name}, device)
	requests := int64(0)
	var to counts
	for name, place := range places {
		if !matching.has(place) {
			continue
		}
		if to == nil {
			if to = o.devices.of(spec, device); to == nil {
				return
			}
			requests = requestsOf(device)
		}
		to[name] += requests
	}
}
