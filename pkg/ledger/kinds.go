// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind is the kind of a dimension: an index into Kinds.
type Kind uint8

const (
	// Resource is a resource of nodes, such as cpu, memory or nvidia.com/gpu, in its own unit: cores, bytes, pieces.
	Resource Kind = iota
	// Card is a card model, or a share of one, that a device plugin serves.
	Card
	// DeviceCount is the number of devices of a DeviceClass.
	DeviceCount
	// DeviceCapacity is a capacity of the devices of a DeviceClass, such as memory, in its own unit.
	DeviceCapacity
)

// KindInfo holds the parts of a kind that all external forms of dimensions share.
type KindInfo struct {
	// Name is the kind in annotations and messages. Shown is the kind in the visibility API. Clusters contain both names, so they
	// must not change.
	Name, Shown string
	// Labels are the metric labels for the name of a dimension and, if there are two, its capacity. A kind that has all labels of
	// another kind must come after it.
	Labels []string
	// Unit is the thing that amounts count. If it is empty, the last label value names the measure, such as memory.
	Unit string
}

// Kinds lists all kinds, indexed by Kind. Only tests change it.
var Kinds = []KindInfo{
	Resource:       {"Resource", "Resource", []string{"resource"}, ""},
	Card:           {"Card", "Card", []string{"card"}, "card"},
	DeviceCount:    {"DeviceCount", "Device", []string{"device_class"}, "device"},
	DeviceCapacity: {"DeviceCapacity", "DeviceCapacity", []string{"device_class", "capacity"}, ""},
}

// Info returns the entry of a kind in the table. A kind without an entry gets names that no parser accepts.
func (k Kind) Info() KindInfo {
	if int(k) < len(Kinds) {
		return Kinds[k]
	}
	name := fmt.Sprintf("Kind(%d)", uint8(k))
	return KindInfo{Name: name, Shown: name, Labels: []string{name}, Unit: name}
}

// String returns the name in annotations and messages.
func (k Kind) String() string { return k.Info().Name }

// OfClass reports whether dimensions of this kind have the name of a DeviceClass.
func (k Kind) OfClass() bool { return k == DeviceCount || k == DeviceCapacity }

// Key is the text form of a dimension.
type Key struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Capacity string `json:"capacity,omitempty"`
}

// Key returns the text form of a dimension.
func (d Dimension) Key() Key { return Key{d.Kind.String(), d.Name, d.Capacity} }

// ParseKey returns the dimension of a Key. It also accepts the kind that the visibility API shows.
func ParseKey(k Key) (Dimension, error) {
	kind := slices.IndexFunc(Kinds, func(i KindInfo) bool { return i.Name == k.Kind || i.Shown == k.Kind })
	switch {
	case kind < 0:
		return Dimension{}, fmt.Errorf("%q is no kind of a dimension", k.Kind)
	case k.Name == "":
		return Dimension{}, fmt.Errorf("a dimension of kind %s has no name", k.Kind)
	case (len(Kinds[kind].Labels) > 1) != (k.Capacity != ""):
		return Dimension{}, fmt.Errorf("%s %s has capacity %q: a DeviceCapacity names one, and nothing else does", k.Kind, k.Name, k.Capacity)
	}
	return Dimension{Kind(kind), k.Name, k.Capacity}, nil
}

// Labels calls yield with each label of the dimension and its value.
func (d Dimension) Labels(yield func(label, value string) bool) {
	for i, value := range d.LabelValues() {
		if !yield(d.Kind.Info().Labels[i], value) {
			return
		}
	}
}

// LabelValues returns the values of the labels of the dimension.
func (d Dimension) LabelValues() []string {
	return []string{d.Name, d.Capacity}[:len(d.Kind.Info().Labels)]
}

// ParseLabels returns the dimension with these label values. The function must return an empty string for a missing label.
func ParseLabels(value func(label string) string) (Dimension, error) {
	for i := len(Kinds) - 1; i >= 0; i-- { // device capacities have the label of device counts, too
		d := Dimension{Kind(i), value(Kinds[i].Labels[0]), ""}
		if len(Kinds[i].Labels) > 1 {
			d.Capacity = value(Kinds[i].Labels[1])
		}
		if !slices.Contains(d.LabelValues(), "") {
			return d, nil
		}
	}
	return Dimension{}, errors.New("the labels are those of no kind of a dimension")
}

// Unit returns the thing that amounts count: device, card, or the name of a resource or capacity.
func (d Dimension) Unit() string { return cmp.Or(d.Kind.Info().Unit, d.Capacity, d.Name) }

// Binary reports whether quantities of the dimension have binary suffixes.
func (d Dimension) Binary() bool {
	return d.Kind.Info().Unit == "" && (d.Kind != Resource || d.Name != "cpu")
}

// Bytes reports whether the unit of the dimension is a byte.
func (d Dimension) Bytes() bool {
	name := d.Unit()
	return d.Kind.Info().Unit == "" &&
		(name == "memory" || strings.HasSuffix(name, "/memory") || strings.HasSuffix(name, "storage") || strings.HasPrefix(name, "hugepages-"))
}
