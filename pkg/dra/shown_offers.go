// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// ServedAnnotation has the extended resources that DRA serves on a node, sorted and separated by commas. It exists in
	// memory only: the API server accepts no such name.
	ServedAnnotation = "<served-by-dra>"
	// listedAnnotation contains the quantities of these resources in the API server. For each listed resource, it contains the
	// name, the allocatable quantity and the capacity, separated by spaces. It exists only in memory.
	listedAnnotation = "<listed-besides-dra>"
	// unlisted stands for a quantity that is missing in the API server.
	unlisted = "-"
)

// ShowOffers returns a copy of a node that lists the extended resources served by DRA there, with their numbers, like those of a device
// plugin. It undoes earlier calls. If nothing changes, it returns the node itself.
func ShowOffers(node *corev1.Node, o *Offers) *corev1.Node {
	return ShowOffersInUse(node, o, nil)
}

// ShowOffersInUse is ShowOffers for a node with pods. It lists at least the amount of a resource that is in use, so the node is not
// overcommitted when devices disappear.
func ShowOffersInUse(node *corev1.Node, o *Offers, inUse func(corev1.ResourceName) int64) *corev1.Node {
	before := WithoutOffers(node)
	served := o.on(before, inUse)
	if len(served) == 0 {
		return before
	}
	shown := withOwnLists(before)
	names := slices.Sorted(maps.Keys(served))
	var listed []string
	for _, name := range names {
		allocatable, capacity := quantityIn(before.Status.Allocatable, name), quantityIn(before.Status.Capacity, name)
		if allocatable != unlisted || capacity != unlisted {
			listed = append(listed, string(name)+" "+allocatable+" "+capacity)
		}
		number := *resource.NewQuantity(served[name], resource.DecimalSI)
		shown.Status.Allocatable[name], shown.Status.Capacity[name] = number, number
	}
	shown.Annotations[ServedAnnotation] = listOf(names)
	if len(listed) > 0 {
		shown.Annotations[listedAnnotation] = strings.Join(listed, ",")
	}
	if node != before && maps.Equal(node.Annotations, shown.Annotations) &&
		equality.Semantic.DeepEqual(node.Status.Allocatable, shown.Status.Allocatable) && equality.Semantic.DeepEqual(node.Status.Capacity, shown.Status.Capacity) {
		return node
	}
	return shown
}

// WithoutOffers undoes ShowOffers. It returns a node in the state of the API server.
func WithoutOffers(node *corev1.Node) *corev1.Node {
	served := Served(node)
	if len(served) == 0 {
		return node
	}
	undone := withOwnLists(node)
	for _, name := range served {
		delete(undone.Status.Allocatable, name)
		delete(undone.Status.Capacity, name)
	}
	for entry := range strings.SplitSeq(node.Annotations[listedAnnotation], ",") {
		if fields := strings.Fields(entry); len(fields) == 3 {
			restore(undone.Status.Allocatable, fields[0], fields[1])
			restore(undone.Status.Capacity, fields[0], fields[2])
		}
	}
	delete(undone.Annotations, ServedAnnotation)
	delete(undone.Annotations, listedAnnotation)
	return undone
}

// Served returns the extended resources that ShowOffers has added to a node, sorted. DRA serves them there.
func Served(node *corev1.Node) []corev1.ResourceName {
	key := ServedKey(node)
	if key == "" {
		return nil
	}
	parts := strings.Split(key, ",")
	names := make([]corev1.ResourceName, len(parts))
	for i := range parts {
		names[i] = corev1.ResourceName(parts[i])
	}
	return names
}

// ServedKey returns a key that is equal for two nodes if and only if DRA serves the same extended resources on both. It is empty if
// there are none.
func ServedKey(node *corev1.Node) string { return node.Annotations[ServedAnnotation] }

// withOwnLists returns a copy of a node with its own annotations and resource lists. It shares everything else.
func withOwnLists(node *corev1.Node) *corev1.Node {
	own := *node
	own.Annotations = maps.Clone(node.Annotations)
	own.Status.Allocatable, own.Status.Capacity = maps.Clone(node.Status.Allocatable), maps.Clone(node.Status.Capacity)
	if own.Annotations == nil {
		own.Annotations = map[string]string{}
	}
	if own.Status.Allocatable == nil {
		own.Status.Allocatable = corev1.ResourceList{}
	}
	if own.Status.Capacity == nil {
		own.Status.Capacity = corev1.ResourceList{}
	}
	return &own
}

func quantityIn(list corev1.ResourceList, name corev1.ResourceName) string {
	quantity, listed := list[name]
	if !listed {
		return unlisted
	}
	return quantity.String()
}

func restore(list corev1.ResourceList, name, quantity string) {
	if quantity != unlisted {
		list[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
}

func listOf(names []corev1.ResourceName) string {
	parts := make([]string, len(names))
	for i := range names {
		parts[i] = string(names[i])
	}
	return strings.Join(parts, ",")
}
