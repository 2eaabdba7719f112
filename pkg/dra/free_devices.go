// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// excludedAttribute is an additional attribute of the devices in a search. notExcluded is the selector that checks it. Other
// ways to exclude a device would have side effects. A device marked as in use consumes the counters that partitions share. A
// device left out makes "all devices" fewer.
const (
	excludedAttribute = "devicequota.io/excluded"
	notExcluded       = `device.attributes["devicequota.io"].excluded == false`
)

// consumedUnknown is the consumed capacity of a shareable device while nothing is picked.
var consumedUnknown = map[resourceapi.QualifiedName]resource.Quantity{}

// freeDevices holds the devices that a node can reach and that are not in use. It can exclude some of them.
type freeDevices struct {
	allocator *Allocator
	slices    []*resourceapi.ResourceSlice
	devices   []*freeDevice
	byID      map[DeviceID]*freeDevice
	// charges holds the charge of each device, in the order of devices.
	charges map[chargeKey][]Charge
	// matching records which devices match a class and selectors.
	matching map[string][]bool
	// solver allocates devices that are not excluded. It is created on demand.
	solver *solver
}

// chargeKey determines the charge of a device.
type chargeKey struct {
	class string
	// request is the name of the request in an extended claim, and empty for other claims. Devices for an extended resource do not count for
	// the resource again.
	request string
}

type freeDevice struct {
	*resourceapi.Device
	id       DeviceID
	excluded *bool
	// plain says that only the selectors of a request decide whether the device can be picked.
	plain bool
}

func newFreeDevices(a *Allocator, slices []*resourceapi.ResourceSlice) *freeDevices {
	s := &freeDevices{allocator: a, slices: slices, byID: map[DeviceID]*freeDevice{}, charges: map[chargeKey][]Charge{}, matching: map[string][]bool{}}
	for _, slice := range slices {
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			id := DeviceID{slice.Spec.Driver, slice.Spec.Pool.Name, device.Name}
			published, _ := a.catalog.Device(id)
			if published != device || a.taken.AllocatedDevices.Has(structured.MakeDeviceID(id.Driver, id.Pool, id.Device)) {
				continue
			}
			plain := !ptr.Deref(device.AllowMultipleAllocations, false) && len(device.ConsumesCounters)+len(device.Taints) == 0 &&
				(len(device.BindingConditions) == 0 || a.features.DeviceBinding && a.features.DeviceStatus) &&
				device.NodeName == nil && device.NodeSelector == nil && device.AllNodes == nil
			s.byID[id] = &freeDevice{Device: device, id: id, excluded: new(bool), plain: plain}
			s.devices = append(s.devices, s.byID[id])
		}
	}
	return s
}

// open returns a solver whose devices have the attribute excludedAttribute. Claims must have the selector notExcluded.
func (s *freeDevices) open(ctx context.Context) (*solver, error) {
	if s.solver != nil {
		return s.solver, nil
	}
	marked := make([]*resourceapi.ResourceSlice, len(s.slices))
	for i, slice := range s.slices {
		copied := *slice
		copied.Spec.Devices = slices.Clone(slice.Spec.Devices)
		for j := range copied.Spec.Devices {
			device, flag := &copied.Spec.Devices[j], new(bool)
			if known := s.byID[DeviceID{slice.Spec.Driver, slice.Spec.Pool.Name, device.Name}]; known != nil {
				flag = known.excluded
			}
			attributes := make(map[resourceapi.QualifiedName]resourceapi.DeviceAttribute, len(device.Attributes)+1)
			maps.Copy(attributes, device.Attributes)
			attributes[excludedAttribute] = resourceapi.DeviceAttribute{BoolValue: flag}
			device.Attributes = attributes
		}
		marked[i] = &copied
	}
	var err error
	s.solver, err = s.allocator.open(ctx, marked)
	return s.solver, err
}

// chargesFor returns the charge of each device if it is picked for a request of a claim.
func (s *freeDevices) chargesFor(key chargeKey, request string, claim int, charge func(int, *resourceapi.AllocationResult) Charge) []Charge {
	charges, known := s.charges[key]
	if known {
		return charges
	}
	charges = make([]Charge, len(s.devices))
	for i, device := range s.devices {
		only := resourceapi.DeviceRequestAllocationResult{Request: request, Driver: device.id.Driver, Pool: device.id.Pool, Device: device.id.Device}
		if ptr.Deref(device.AllowMultipleAllocations, false) {
			only.ConsumedCapacity = consumedUnknown
		}
		charges[i] = charge(claim, &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
			Results: []resourceapi.DeviceRequestAllocationResult{only},
		}})
	}
	s.charges[key] = charges
	return charges
}

// matches returns which devices match a class and selectors. A selector that cannot be evaluated matches, because Kubernetes'
// algorithm reports it. The error is errTooMuch if the evaluation takes too long.
func (s *freeDevices) matches(ctx context.Context, class string, selectors []resourceapi.DeviceSelector, watch *stopwatch) ([]bool, error) {
	var expressions []string
	if object, found := s.allocator.catalog.Class(class); found {
		expressions = append(expressions, expressionsOf(object.Spec.Selectors)...)
	}
	expressions = append(expressions, expressionsOf(selectors)...)
	key := strings.Join(expressions, "\x00")
	if matching, known := s.matching[key]; known {
		return matching, nil
	}
	if err := watch.effort.spend(len(s.devices) * len(expressions) * effortOfEvaluation); err != nil {
		return nil, err
	}
	matching := make([]bool, len(s.devices))
	for i, device := range s.devices {
		matching[i] = !slices.ContainsFunc(expressions, func(expression string) bool {
			compiled := s.allocator.celCache.GetOrCompile(expression)
			if compiled.Error != nil {
				return false
			}
			ok, _, err := compiled.DeviceMatches(ctx, described(device.id.Driver, device.Device))
			return err == nil && !ok
		})
		if err := watch.lap(); err != nil {
			return nil, err
		}
	}
	s.matching[key] = matching
	return matching, nil
}

// policyOf distinguishes shareable devices, because their consumption depends on their capacities and policies. It is empty for
// other devices.
func policyOf(device *resourceapi.Device) string {
	if !ptr.Deref(device.AllowMultipleAllocations, false) {
		return ""
	}
	text, err := json.Marshal(device.Capacity)
	if err != nil {
		return device.Name // different from all other devices
	}
	return string(text)
}
