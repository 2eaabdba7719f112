// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"math"
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
	for _, slice := range catalog.current() {
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

// current returns the slices of complete pools, in no particular order. Kubernetes' allocator finds the latest generation of a pool among the
// slices that a node can reach. An older generation may therefore still be valid on another node.
func (c *Catalog) current() []*resourceapi.ResourceSlice {
	type reach struct {
		pool PoolID
		node string
	}
	type published struct {
		pool       PoolID
		generation int64
	}
	all := slices.Clone(c.anywhere)
	for _, own := range c.ofNode {
		all = append(all, own...)
	}
	latest, listed := map[reach]int64{}, map[published]int64{}
	for _, slice := range all {
		at := reach{poolOf(slice), ptr.Deref(slice.Spec.NodeName, "")}
		latest[at] = max(latest[at], slice.Spec.Pool.Generation)
		listed[published{at.pool, slice.Spec.Pool.Generation}]++
	}
	return slices.DeleteFunc(all, func(slice *resourceapi.ResourceSlice) bool {
		pool, generation := poolOf(slice), slice.Spec.Pool.Generation
		return generation < latest[reach{pool, ptr.Deref(slice.Spec.NodeName, "")}] || listed[published{pool, generation}] < slice.Spec.Pool.ResourceSliceCount
	})
}

// on returns the extended resources that DRA serves on a node in the state of the API server, with their numbers. The node can reach devices
// for them, and no device plugin serves them there. inUse may be nil, see ShowOffersInUse.
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

// unlimited stands for any number of requests. No node has as many, and sums do not overflow.
const unlimited = 1 << 20

// requestsOf returns how many requests without a capacity a device can meet at the same time. For a device that allows multiple allocations
// (KEP-5075), its capacities determine the number.
func requestsOf(device *resourceapi.Device) int64 {
	if !ptr.Deref(device.AllowMultipleAllocations, false) {
		return 1
	}
	least := int64(unlimited)
	for _, capacity := range device.Capacity {
		least = min(least, sharesOf(capacity))
	}
	return least
}

// sharesOf returns the number of requests that a capacity is enough for. Each request takes the default of the policy or,
// without one, the whole capacity.
func sharesOf(capacity resourceapi.DeviceCapacity) int64 {
	taken := capacity.Value
	if policy := capacity.RequestPolicy; policy != nil && policy.Default != nil {
		taken = *policy.Default
	}
	if taken.Sign() <= 0 {
		return unlimited
	}
	const tolerance = 1 + 1e-9 // rounds up if one more almost fits
	times := capacity.Value.AsApproximateFloat64() / taken.AsApproximateFloat64()
	return int64(math.Min(times*tolerance, unlimited))
}
