package capacity

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Volcano counts memory and pods in whole units and everything else in thousandths, all of
// it in floating-point numbers. These are the units in billionths.
const (
	whole      = 1_000_000_000
	thousandth = 1_000_000
)

// namedResource is what is known of a resource's name.
type namedResource struct {
	name    corev1.ResourceName
	ordinal ledger.Ordinal
	unit    uint64
	// counted is false for names that Volcano leaves out, such as those of object counts.
	counted bool
	// class is the DeviceClass whose devices the name stands for (KEP-5004); empty for none.
	class string
}

// resources translates Volcano's resources into amounts of the ledger, and back.
type resources struct {
	dimensions *ledger.Dimensions
	byName     map[corev1.ResourceName]*namedResource
	// all has them in the order in which they were met.
	all               []*namedResource
	cpu, memory, pods ledger.Ordinal
	// basic says that no others but these are counted.
	basic bool
	// classOf returns the DeviceClass that a name stands for; empty for none.
	classOf func(corev1.ResourceName) string
}

func newResources(dimensions *ledger.Dimensions) *resources {
	r := &resources{
		dimensions: dimensions, byName: map[corev1.ResourceName]*namedResource{},
		classOf: func(corev1.ResourceName) string { return "" },
	}
	r.pods, r.cpu, r.memory = r.named(corev1.ResourcePods).ordinal, r.named(corev1.ResourceCPU).ordinal, r.named(corev1.ResourceMemory).ordinal
	return r
}

func (r *resources) named(name corev1.ResourceName) *namedResource {
	if known := r.byName[name]; known != nil {
		return known
	}
	met := &namedResource{name: name, unit: thousandth, ordinal: r.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Resource, Name: string(name)})}
	switch name {
	case corev1.ResourceMemory, corev1.ResourcePods:
		met.unit, met.counted = whole, true
	case corev1.ResourceCPU, corev1.ResourceEphemeralStorage:
		met.counted = true
	default:
		met.counted = !api.IsCountQuota(name) && schedutil.IsScalarResourceName(name)
	}
	met.class = r.classOf(name)
	r.byName[name], r.all = met, append(r.all, met)
	return met
}

// reclassify asks again for the classes that names stand for, and reports whether any has
// changed.
func (r *resources) reclassify(classOf func(corev1.ResourceName) string) bool {
	r.classOf = classOf
	changed := false
	for _, named := range r.all {
		class := classOf(named.name)
		changed = changed || class != named.class
		named.class = class
	}
	return changed
}

// amounts returns what is in a resource, in the order of the dimensions. Like Volcano it
// takes cpu and memory of zero for not set, and anything else of zero for none. Names that
// stand for devices are left out.
func (r *resources) amounts(from *api.Resource) (ledger.Amounts, error) {
	amounts := make(ledger.Amounts, 0, 2+len(from.ScalarResources))
	add := func(name corev1.ResourceName, value float64) error {
		named := r.named(name)
		amount, err := ledger.FromFloat(max(value, 0), named.unit)
		if err != nil {
			return fmt.Errorf("%s: %g: %w", name, value, err)
		}
		amounts = append(amounts, ledger.Entry{Dimension: named.ordinal, Amount: amount})
		return nil
	}
	var errs []error
	if from.MilliCPU > 0 {
		errs = append(errs, add(corev1.ResourceCPU, from.MilliCPU))
	}
	if from.Memory > 0 {
		errs = append(errs, add(corev1.ResourceMemory, from.Memory))
	}
	for name, value := range from.ScalarResources {
		if r.named(name).class != "" || r.basic && name != corev1.ResourcePods {
			continue
		}
		errs = append(errs, add(name, value))
	}
	slices.SortFunc(amounts, func(a, b ledger.Entry) int { return int(a.Dimension - b.Dimension) })
	return amounts, errors.Join(errs...)
}

// list appends to amounts, which may be nil, what a user or an administrator wrote. It counts
// as api.NewResource and amounts together do. Of a name that stands for devices it takes their
// number, unless amounts has one.
func (r *resources) list(from corev1.ResourceList, amounts ledger.Amounts) ledger.Amounts {
	for name, quantity := range from {
		named := r.named(name)
		value := quantity.MilliValue()
		if named.unit == whole {
			value = quantity.Value()
		}
		basic := name == corev1.ResourceCPU || name == corev1.ResourceMemory
		if basic && value <= 0 || r.basic && !basic || !named.counted || ignored(name) {
			continue
		}
		ordinal := named.ordinal
		if named.class != "" {
			if ordinal = r.count(named.class); slices.ContainsFunc(amounts, func(e ledger.Entry) bool { return e.Dimension == ordinal }) {
				continue
			}
		}
		amounts = append(amounts, ledger.Entry{Dimension: ordinal, Amount: ledger.Scaled(max(value, 0), named.unit)})
	}
	return amounts
}

func (r *resources) count(class string) ledger.Ordinal {
	return r.dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: class})
}

// devices adds what the containers of a pod request of names that stand for devices: each
// container gets its own, those that run one after the other, too (KEP-5004). It returns one of
// the names; empty when there is none.
func (r *resources) devices(pod *corev1.Pod, amounts ledger.Amounts) (ledger.Amounts, corev1.ResourceName, error) {
	var some corev1.ResourceName
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for name, quantity := range containers[i].Resources.Requests {
				class := r.named(name).class
				if class == "" || quantity.Sign() <= 0 {
					continue
				}
				var err error
				if amounts, err = amounts.Plus(r.count(class), ledger.Units(quantity.Value())); err != nil {
					return nil, name, fmt.Errorf("%s: %w", name, err)
				}
				some = max(some, name)
			}
		}
	}
	return amounts, some, nil
}

// ignored reports whether a plugin of Volcano's that hands out devices itself takes the name
// out of all accounts.
func ignored(name corev1.ResourceName) bool {
	found := false
	api.IgnoredDevicesList.Range(func(_ int, device string) bool {
		found = device == string(name)
		return !found
	})
	return found
}

// resource is values of all resources, in the order of all, as Volcano counts them.
func (r *resources) resource(values []ledger.Amount) *api.Resource {
	resource := api.EmptyResource()
	for i, value := range values {
		switch named := r.all[i]; named.name {
		case corev1.ResourceCPU:
			resource.MilliCPU = value.Float(named.unit)
		case corev1.ResourceMemory:
			resource.Memory = value.Float(named.unit)
		default:
			if value != (ledger.Amount{}) {
				resource.SetScalar(named.name, value.Float(named.unit))
			}
		}
	}
	return resource
}
