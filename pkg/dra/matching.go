// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
)

// askOfEachValue asks once for each value of an attribute that devices must share. Kubernetes' algorithm of v1.34 takes the counters of a device
// before it finds out that the device has another value, and does not give them back. It then does not find partitions that are free.
func (p *picking) askOfEachValue(solver *solver, claims []*resourceapi.ResourceClaim) ([]resourceapi.AllocationResult, error) {
	claim, constraint := matched(claims)
	if claim < 0 || !p.allocator.features.PartitionableDevices || !p.allocator.catalog.partitioned {
		return nil, nil
	}
	name := string(*claims[claim].Spec.Devices.Constraints[constraint].MatchAttribute)
	for _, value := range p.valuesOf(name) {
		results, err := p.ask(solver, withValue(claims, claim, constraint, name, value))
		if err != nil || results != nil {
			return results, err
		}
	}
	return nil, nil
}

// matched returns the first constraint that devices share an attribute. The claim is -1 if there is none.
func matched(claims []*resourceapi.ResourceClaim) (claim, constraint int) {
	for c := range claims {
		at := slices.IndexFunc(claims[c].Spec.Devices.Constraints, func(one resourceapi.DeviceConstraint) bool { return one.MatchAttribute != nil })
		if at >= 0 {
			return c, at
		}
	}
	return -1, 0
}

// valuesOf returns the values of an attribute as constants of CEL, sorted.
func (p *picking) valuesOf(name string) []string {
	domain, id, _ := strings.Cut(name, "/")
	values := map[string]bool{}
	for _, slice := range p.slices {
		for i := range slice.Spec.Devices {
			attribute, found := slice.Spec.Devices[i].Attributes[resourceapi.QualifiedName(name)]
			if !found && slice.Spec.Driver == domain {
				attribute, found = slice.Spec.Devices[i].Attributes[resourceapi.QualifiedName(id)]
			}
			if found {
				values[constantOf(&attribute)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(values))
}

func constantOf(attribute *resourceapi.DeviceAttribute) string {
	switch {
	case attribute.IntValue != nil:
		return fmt.Sprint(*attribute.IntValue)
	case attribute.BoolValue != nil:
		return fmt.Sprint(*attribute.BoolValue)
	case attribute.VersionValue != nil:
		return fmt.Sprintf("semver(%q)", *attribute.VersionValue)
	case attribute.StringValue != nil:
		return fmt.Sprintf("%q", *attribute.StringValue)
	default:
		return "false"
	}
}

// withValue returns a copy of the claims in which requests ask for the value of an attribute, instead of having a constraint. The copy shares all other
// parts.
func withValue(claims []*resourceapi.ResourceClaim, claim, constraint int, name, value string) []*resourceapi.ResourceClaim {
	domain, id, _ := strings.Cut(name, "/")
	selector := resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{
		Expression: fmt.Sprintf("%q in device.attributes[%q] && device.attributes[%q][%q] == %s", id, domain, domain, id, value),
	}}
	changed := *claims[claim]
	of := changed.Spec.Devices.Constraints[constraint].Requests
	asks := func(name string) bool { return len(of) == 0 || slices.Contains(of, name) }
	changed.Spec.Devices.Constraints = slices.Delete(slices.Clone(changed.Spec.Devices.Constraints), constraint, constraint+1)
	changed.Spec.Devices.Requests = slices.Clone(changed.Spec.Devices.Requests)
	for r := range changed.Spec.Devices.Requests {
		request := &changed.Spec.Devices.Requests[r]
		if request.Exactly != nil && asks(request.Name) {
			exactly := *request.Exactly
			exactly.Selectors = append(slices.Clip(exactly.Selectors), selector)
			request.Exactly = &exactly
		}
		request.FirstAvailable = slices.Clone(request.FirstAvailable)
		for i := range request.FirstAvailable {
			if sub := &request.FirstAvailable[i]; asks(request.Name) || asks(request.Name+"/"+sub.Name) {
				sub.Selectors = append(slices.Clip(sub.Selectors), selector)
			}
		}
	}
	claims = slices.Clone(claims)
	claims[claim] = &changed
	return claims
}
