// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Volcano counts memory and pods in whole units, and all other resources in thousandths, as floating-point numbers. The
// constants are these two units in billionths.
const (
	whole      = 1_000_000_000
	thousandth = 1_000_000
)

// Values holds quantities of resources like Volcano's api.Resource: cpu in thousandths of a core, memory in bytes, pods in pieces, and
// any other resource in thousandths. Like in Volcano, zero cpu or memory means "not set", and zero of any other resource means none.
type Values struct {
	MilliCPU, Memory float64
	Scalars          map[corev1.ResourceName]float64
}

// Resources converts resources to amounts of the ledger, and back. It is not safe for concurrent use.
type Resources struct {
	// CPU, Memory, and Pods are the dimensions of these resources.
	CPU, Memory, Pods ledger.Ordinal

	dimensions *ledger.Dimensions
	byName     map[corev1.ResourceName]*resourceInfo
	// all lists the resources in the order of their first use.
	all []*resourceInfo
	// ordinals are the dimensions of all.
	ordinals []ledger.Ordinal
	// basicOnly says that only cpu, memory and pods count.
	basicOnly bool
	// ignored reports whether a resource never counts.
	ignored func(corev1.ResourceName) bool
	// classOf returns the DeviceClass that offers an extended resource, or an empty name.
	classOf func(corev1.ResourceName) string
}

// resourceInfo describes one resource name.
type resourceInfo struct {
	name    corev1.ResourceName
	ordinal ledger.Ordinal
	// unit is the unit of its Values in billionths.
	unit uint64
	// counted is false for names that Volcano does not count, such as object counts.
	counted bool
	// class is the DeviceClass that offers the resource (KEP-5004), or empty.
	class string
	// implicit says that this is the implicit name that every DeviceClass offers.
	implicit bool
}

// isDevices reports whether the resource is only another name for devices of a class.
func (i *resourceInfo) isDevices() bool { return i.implicit && i.class != "" }

// reclassify updates the DeviceClass that offers each resource (KEP-5004), and reports whether any has changed.
func (r *Resources) reclassify(classOf func(corev1.ResourceName) string) bool {
	r.classOf = classOf
	changed := false
	for _, known := range r.all {
		class := classOf(known.name)
		changed = changed || class != known.class
		known.class = class
	}
	return changed
}

func (r *Resources) devices(class string) ledger.Ordinal {
	return r.dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: class})
}

// NewResources returns a Resources for these dimensions. ignored reports whether a name never counts because it is
// accounted for elsewhere. It must not be nil.
func NewResources(dimensions *ledger.Dimensions, ignored func(corev1.ResourceName) bool) *Resources {
	r := &Resources{
		dimensions: dimensions, byName: map[corev1.ResourceName]*resourceInfo{}, ignored: ignored,
		classOf: func(corev1.ResourceName) string { return "" },
	}
	r.Pods, r.CPU, r.Memory = r.Ordinal(corev1.ResourcePods), r.Ordinal(corev1.ResourceCPU), r.Ordinal(corev1.ResourceMemory)
	return r
}

// counted reports whether Volcano counts a resource other than cpu, memory, pods, and ephemeral storage.
func counted(name corev1.ResourceName) bool {
	return !strings.HasPrefix(string(name), "count/") && schedutil.IsScalarResourceName(name)
}

// UnknownResourceError says that a pod or job requests a resource that no node offers, no quota lists, and no
// DeviceClass offers. These names have no dimension, because users could write any number of them.
type UnknownResourceError struct {
	Resource corev1.ResourceName
	Amount   ledger.Amount
}

func (e UnknownResourceError) Error() string {
	return fmt.Sprintf("it requests <%s> of %s, which no node offers: correct the name, or add nodes that offer it", e.Amount, e.Resource)
}

// Ordinal returns the dimension of a resource.
func (r *Resources) Ordinal(name corev1.ResourceName) ledger.Ordinal {
	return r.of(name).ordinal
}

func (r *Resources) of(name corev1.ResourceName) *resourceInfo {
	if known := r.byName[name]; known != nil {
		return known
	}
	added := &resourceInfo{name: name, unit: thousandth, ordinal: r.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Resource, Name: string(name)})}
	switch name {
	case corev1.ResourceMemory, corev1.ResourcePods:
		added.unit, added.counted = whole, true
	case corev1.ResourceCPU, corev1.ResourceEphemeralStorage:
		added.counted = true
	default:
		added.counted = counted(name)
	}
	added.class, added.implicit = r.classOf(name), strings.HasPrefix(string(name), resourceapi.ResourceDeviceClassPrefix)
	r.byName[name], r.all, r.ordinals = added, append(r.all, added), append(r.ordinals, added.ordinal)
	return added
}

// asked returns the description of a requested resource, or nil if it has no dimension.
func (r *Resources) asked(name corev1.ResourceName) *resourceInfo {
	if known := r.byName[name]; known != nil {
		return known
	}
	if r.classOf(name) != "" {
		return r.of(name)
	}
	return nil
}

// Amounts returns the amounts that nodes offer, in the order of their dimensions. It leaves out implicit names of DeviceClasses,
// because claims count their devices. The error is ledger.ErrOverflow for each value out of range.
func (r *Resources) Amounts(values Values) (ledger.Amounts, error) {
	for name := range values.Scalars {
		r.of(name)
	}
	return r.Requested(values)
}

// Requested is Amounts for requests of users. The error may also be an UnknownResourceError.
func (r *Resources) Requested(values Values) (ledger.Amounts, error) {
	amounts := make(ledger.Amounts, 0, 2+len(values.Scalars))
	add := func(known *resourceInfo, value float64) error {
		amount, err := ledger.FromFloat(max(value, 0), known.unit)
		if err != nil {
			return fmt.Errorf("%s: %g: %w", known.name, value, err)
		}
		amounts = append(amounts, ledger.Entry{Dimension: known.ordinal, Amount: amount})
		return nil
	}
	var errs []error
	var unknown []UnknownResourceError
	if values.MilliCPU > 0 {
		errs = append(errs, add(r.of(corev1.ResourceCPU), values.MilliCPU))
	}
	if values.Memory > 0 {
		errs = append(errs, add(r.of(corev1.ResourceMemory), values.Memory))
	}
	for name, value := range values.Scalars {
		if r.basicOnly && name != corev1.ResourcePods {
			continue
		}
		switch known := r.asked(name); {
		case known == nil && value > 0:
			amount, err := ledger.FromFloat(value, thousandth)
			errs, unknown = append(errs, err), append(unknown, UnknownResourceError{name, amount})
		case known != nil && !known.isDevices():
			errs = append(errs, add(known, value))
		}
	}
	slices.SortFunc(amounts, func(a, b ledger.Entry) int { return int(a.Dimension - b.Dimension) })
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	// A stable order avoids a different message, and thus a new event, in each session.
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return amounts, errors.Join(append(errs, firstOf(unknown)...)...)
}

// maxUnknown is the maximum number of unknown resources that get an error. A pod may request thousands.
const maxUnknown = 8

// firstOf returns the errors for the first resources by name.
func firstOf(unknown []UnknownResourceError) []error {
	slices.SortFunc(unknown, func(a, b UnknownResourceError) int { return cmp.Compare(a.Resource, b.Resource) })
	var errs []error
	for _, err := range unknown[:min(len(unknown), maxUnknown)] {
		errs = append(errs, err)
	}
	if more := len(unknown) - maxUnknown; more > 0 {
		errs = append(errs, fmt.Errorf("and %d more resources that no node offers", more))
	}
	return errs
}

// List appends an administrator's resource list to amounts, which may be nil. The implicit name of a DeviceClass counts as
// devices of the class. If amounts already lists these devices, the smaller number holds.
func (r *Resources) List(from corev1.ResourceList, amounts ledger.Amounts) ledger.Amounts {
	for name, quantity := range from {
		amounts = r.append(r.of(name), quantity, amounts)
	}
	return amounts
}

// Minimum is List for requests of users. It leaves out implicit names of DeviceClasses, because the job's pods contain the same
// requests. It also leaves out resources without a dimension. unknown is the first of these by name, or the zero value.
func (r *Resources) Minimum(from corev1.ResourceList, amounts ledger.Amounts) (all ledger.Amounts, unknown UnknownResourceError) {
	for name, quantity := range from {
		known := r.asked(name)
		switch {
		case known != nil && known.isDevices():
		case known != nil:
			amounts = r.append(known, quantity, amounts)
		case r.basicOnly || !counted(name) || r.ignored(name) || quantity.Sign() <= 0:
		case unknown.Resource == "" || name < unknown.Resource:
			unknown = UnknownResourceError{name, roundedUp(quantity, thousandth)}
		}
	}
	return amounts, unknown
}

func (r *Resources) append(known *resourceInfo, quantity resource.Quantity, amounts ledger.Amounts) ledger.Amounts {
	amount := roundedUp(quantity, known.unit)
	basic := known.name == corev1.ResourceCPU || known.name == corev1.ResourceMemory
	if basic && amount.Sign() == 0 || r.basicOnly && !basic || !known.counted || r.ignored(known.name) {
		return amounts
	}
	ordinal := known.ordinal
	if known.isDevices() {
		ordinal = r.devices(known.class)
		if i := slices.IndexFunc(amounts, func(e ledger.Entry) bool { return e.Dimension == ordinal }); i >= 0 {
			if amount.Cmp(amounts[i].Amount) < 0 {
				amounts = slices.Clone(amounts) // the caller's list outlives the session
				amounts[i].Amount = amount
			}
			return amounts
		}
	}
	return append(amounts, ledger.Entry{Dimension: ordinal, Amount: amount})
}

// Ordinals returns the dimensions of all resources seen so far. Callers must not change the list. The order is stable,
// and new resources come last.
func (r *Resources) Ordinals() []ledger.Ordinal { return r.ordinals }

// Values converts amounts, in the order of Ordinals, to Volcano's units.
func (r *Resources) Values(amounts []ledger.Amount) Values {
	values := Values{Scalars: map[corev1.ResourceName]float64{}}
	for i, amount := range amounts {
		switch known := r.all[i]; known.name {
		case corev1.ResourceCPU:
			values.MilliCPU = amount.Float(known.unit)
		case corev1.ResourceMemory:
			values.Memory = amount.Float(known.unit)
		default:
			if amount != (ledger.Amount{}) {
				values.Scalars[known.name] = amount.Float(known.unit)
			}
		}
	}
	return values
}

// WithoutCPUMemory returns a copy of the amounts without cpu and memory.
func (r *Resources) WithoutCPUMemory(amounts ledger.Amounts) ledger.Amounts {
	return slices.DeleteFunc(slices.Clone(amounts), func(e ledger.Entry) bool {
		return e.Dimension == r.CPU || e.Dimension == r.Memory
	})
}
