// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// Offers says how many requests for one device of each extended resource the devices of a node could meet (KEP-5004). The
// number may be too high, because it does not depend on which devices are in use, and is never too low. Offers do not change,
// so that several goroutines may use them. Nil offers nothing.
type Offers struct {
	// names are the extended resources that classes offer, sorted. Counts are in this order.
	names []corev1.ResourceName
	// onNode has the devices of single nodes, selected those that selectors bring to nodes, by the text of the selector, and
	// everywhere those of all nodes.
	onNode     map[string]counts
	selected   map[string]*selectedOffers
	everywhere counts
}

// counts has a number for each name of the offers. Nil has zeros.
type counts []int64

// selectedOffers are the devices that the nodes that match a selector can reach.
type selectedOffers struct {
	selector *nodeaffinity.NodeSelector
	counts   counts
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
	o := &Offers{names: names, onNode: map[string]counts{}, selected: map[string]*selectedOffers{}}
	counting := offerCount{offers: o, matcher: matcher, places: matcher.placesOf(classes)}
	for slice := range catalog.current() {
		counting.add(&slice.Spec)
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
	for i, count := range o.countsOn(node) {
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

// countsOn adds up the devices that a node can reach.
func (o *Offers) countsOn(node *corev1.Node) counts {
	sum := make(counts, len(o.names))
	sum.add(o.onNode[node.Name])
	sum.add(o.everywhere)
	for _, s := range o.selected {
		if s.selector.Match(node) {
			sum.add(s.counts)
		}
	}
	return sum
}

func (c counts) add(other counts) {
	for i, n := range other {
		c[i] += n
	}
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
	sameCounts := func(a, b counts) bool { return slices.Equal(a, b) }
	return slices.Equal(o.names, other.names) && slices.Equal(o.everywhere, other.everywhere) && maps.EqualFunc(o.onNode, other.onNode, sameCounts) &&
		maps.EqualFunc(o.selected, other.selected, func(a, b *selectedOffers) bool { return slices.Equal(a.counts, b.counts) })
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

// offerCount counts devices for offers.
type offerCount struct {
	offers  *Offers
	matcher *Matcher
	// places has the place of the class of each name in the matcher.
	places []int
}

// add counts the devices of a slice.
func (c *offerCount) add(spec *resourceapi.ResourceSliceSpec) {
	perDevice := ptr.Deref(spec.PerDeviceNodeSelection, false)
	for i := range spec.Devices {
		device := &spec.Devices[i]
		matching := c.matcher.matchesOf(DeviceID{spec.Driver, spec.Pool.Name, device.Name}, device)
		requests := int64(0)
		var to counts
		for name, place := range c.places {
			if !matching.has(place) {
				continue
			}
			if to == nil {
				if requests = requestsOf(device); perDevice {
					to = c.reach(device.NodeName, device.NodeSelector, device.AllNodes)
				} else {
					to = c.reach(spec.NodeName, spec.NodeSelector, spec.AllNodes)
				}
			}
			if to == nil {
				break
			}
			to[name] += requests
		}
	}
}

// reach returns the counts of those that can reach a device: one node, those that a selector matches, or all. It is nil if nobody can.
func (c *offerCount) reach(name *string, selected *corev1.NodeSelector, all *bool) counts {
	o := c.offers
	switch {
	case ptr.Deref(name, "") != "":
		if o.onNode[*name] == nil {
			o.onNode[*name] = make(counts, len(o.names))
		}
		return o.onNode[*name]
	case ptr.Deref(all, false):
		if o.everywhere == nil {
			o.everywhere = make(counts, len(o.names))
		}
		return o.everywhere
	case selected != nil:
		return c.selectedBy(selected)
	}
	return nil
}

func (c *offerCount) selectedBy(selected *corev1.NodeSelector) counts {
	text := selected.String()
	if known := c.offers.selected[text]; known != nil {
		return known.counts
	}
	selector, err := nodeaffinity.NewNodeSelector(selected)
	if err != nil { // unexpected: the API server validates selectors
		klog.ErrorS(err, "Failed to parse the node selector of a ResourceSlice, nobody is offered its devices", "selector", text)
		return nil
	}
	of := &selectedOffers{selector: selector, counts: make(counts, len(c.offers.names))}
	c.offers.selected[text] = of
	return of.counts
}
