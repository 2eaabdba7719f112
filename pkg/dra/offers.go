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

// Offers says how many requests for one device of each extended resource the devices of a node could meet (KEP-5004). The
// number may be too high, because it does not depend on which devices are in use, and is never too low. Offers do not change,
// so that several goroutines may use them. Nil offers nothing.
type Offers struct {
	// names are the extended resources that classes offer, sorted. Counts are in this order.
	names   []corev1.ResourceName
	devices reach
}

// NewOffers returns what the classes and devices of a catalog offer. It is nil if no class offers an extended resource. The implicit
// names of classes (deviceclass.resource.kubernetes.io/<class>) are left out unless they are for the wanted classes. The
// matcher must be used for nothing else.
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

// offered returns the extended resources that classes offer, sorted, and the class of each.
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
// slices that a node can reach, so that an older generation may still hold on another node.
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

// On returns the extended resources that DRA serves on a node, with their numbers: those for which the node can reach devices, and that
// no device plugin serves there.
func (o *Offers) On(node *corev1.Node) map[corev1.ResourceName]int64 {
	return o.on(WithoutOffers(node), nil)
}

// on is On for a node as the API server has it. InUse may be nil, see ShowOffersInUse.
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

// pluginServes reports whether a device plugin serves an extended resource on a node, rather than DRA. Kubelets older than 1.35 reject pods
// with a resource that the node lists, even if it lists none of it.
func pluginServes(node *corev1.Node, name corev1.ResourceName) bool {
	quantity, listed := node.Status.Allocatable[name]
	if !listed || !quantity.IsZero() {
		return listed
	}
	kubelet, err := version.ParseGeneric(node.Status.NodeInfo.KubeletVersion)
	return err != nil || kubelet.LessThan(servesUnusedSince)
}

var servesUnusedSince = version.MajorMinor(1, 35)

// ignoredBy reports whether the kubelet of a node gives containers no devices for a name: those older than 1.35 do not know the
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
