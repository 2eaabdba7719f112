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
}

// resources translates Volcano's resources into amounts of the ledger, and back.
type resources struct {
	dimensions *ledger.Dimensions
	byName     map[corev1.ResourceName]*namedResource
	// all has them in the order in which they were met.
	all  []*namedResource
	pods ledger.Ordinal
}

func newResources(dimensions *ledger.Dimensions) *resources {
	r := &resources{dimensions: dimensions, byName: map[corev1.ResourceName]*namedResource{}}
	r.pods = r.named(corev1.ResourcePods).ordinal
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
	r.byName[name], r.all = met, append(r.all, met)
	return met
}

// amounts returns what is in a resource, in the order of the dimensions. Like Volcano it
// takes cpu and memory of zero for not set, and anything else of zero for none.
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
		errs = append(errs, add(name, value))
	}
	slices.SortFunc(amounts, func(a, b ledger.Entry) int { return int(a.Dimension - b.Dimension) })
	return amounts, errors.Join(errs...)
}

// list appends to amounts, which may be nil, what a user or an administrator wrote. It counts
// as api.NewResource and amounts together do.
func (r *resources) list(from corev1.ResourceList, amounts ledger.Amounts) ledger.Amounts {
	for name, quantity := range from {
		named := r.named(name)
		value := quantity.MilliValue()
		if named.unit == whole {
			value = quantity.Value()
		}
		unset := value <= 0 && (name == corev1.ResourceCPU || name == corev1.ResourceMemory)
		if unset || !named.counted || ignored(name) {
			continue
		}
		amounts = append(amounts, ledger.Entry{Dimension: named.ordinal, Amount: ledger.Scaled(max(value, 0), named.unit)})
	}
	return amounts
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
