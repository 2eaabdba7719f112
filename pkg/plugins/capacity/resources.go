package capacity

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Volcano counts memory and pods in whole units and everything else in thousandths, all of
// it in floating-point numbers. These are the units in billionths.
const (
	whole      = 1_000_000_000
	thousandth = 1_000_000
)

func unitOf(name corev1.ResourceName) uint64 {
	if name == corev1.ResourceMemory || name == corev1.ResourcePods {
		return whole
	}
	return thousandth
}

// resources translates Volcano's resources into amounts of the ledger, and back.
type resources struct {
	dimensions *ledger.Dimensions
	ordinals   map[corev1.ResourceName]ledger.Ordinal
	// names has all resources that were ever met.
	names []corev1.ResourceName
	pods  ledger.Ordinal
}

func newResources(dimensions *ledger.Dimensions) *resources {
	r := &resources{dimensions: dimensions, ordinals: map[corev1.ResourceName]ledger.Ordinal{}}
	r.pods = r.ordinal(corev1.ResourcePods)
	return r
}

func (r *resources) ordinal(name corev1.ResourceName) ledger.Ordinal {
	o, known := r.ordinals[name]
	if !known {
		o = r.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Resource, Name: string(name)})
		r.ordinals[name] = o
		r.names = append(r.names, name)
	}
	return o
}

// amounts returns what is in a resource, in the order of the dimensions. Like Volcano it
// takes cpu and memory of zero for not set, and anything else of zero for none.
func (r *resources) amounts(from *api.Resource) (ledger.Amounts, error) {
	var amounts ledger.Amounts
	add := func(name corev1.ResourceName, value float64) error {
		amount, err := ledger.FromFloat(max(value, 0), unitOf(name))
		if err != nil {
			return fmt.Errorf("%s: %g: %w", name, value, err)
		}
		amounts = append(amounts, ledger.Entry{Dimension: r.ordinal(name), Amount: amount})
		return nil
	}
	if from.MilliCPU > 0 {
		if err := add(corev1.ResourceCPU, from.MilliCPU); err != nil {
			return nil, err
		}
	}
	if from.Memory > 0 {
		if err := add(corev1.ResourceMemory, from.Memory); err != nil {
			return nil, err
		}
	}
	for name, value := range from.ScalarResources {
		if err := add(name, value); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(amounts, func(a, b ledger.Entry) int { return int(a.Dimension - b.Dimension) })
	return amounts, nil
}

// list is amounts of what an administrator or a user wrote.
func (r *resources) list(from corev1.ResourceList) (ledger.Amounts, error) {
	return r.amounts(api.NewResource(from))
}

// resource is values of the resources, in the order of names, as Volcano counts them.
func (r *resources) resource(values []ledger.Amount) *api.Resource {
	resource := api.EmptyResource()
	for i, value := range values {
		switch name := r.names[i]; name {
		case corev1.ResourceCPU:
			resource.MilliCPU = value.Float(thousandth)
		case corev1.ResourceMemory:
			resource.Memory = value.Float(whole)
		default:
			if value != (ledger.Amount{}) {
				resource.SetScalar(name, value.Float(unitOf(name)))
			}
		}
	}
	return resource
}
