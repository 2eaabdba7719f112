// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

// slot is a request for a number of devices.
type slot struct {
	claim, count int
	// request is the name of the request, without the alternative.
	request string
	charges []Charge
	matches []bool
}

// chargesDiffer fills the slots. It reports whether it matters which devices are picked for them.
func (s *deviceSearch) chargesDiffer(claims []*resourceapi.ResourceClaim, refused []resourceapi.AllocationResult) bool {
	differ := false
	s.claims = make([]*resourceapi.ResourceClaim, len(claims))
	for c, claim := range claims {
		changed := *claim
		changed.Spec.Devices.Requests = slices.Clone(claim.Spec.Devices.Requests)
		s.claims[c] = &changed
		s.symmetric = s.symmetric && len(claim.Spec.Devices.Constraints) == 0
		for r := range changed.Spec.Devices.Requests {
			request := &changed.Spec.Devices.Requests[r]
			request.FirstAvailable = slices.Clone(request.FirstAvailable)
			if request.Exactly != nil {
				request.Exactly = ptr.To(*request.Exactly)
			}
			a := askedBy(request)
			switch {
			case a.free:
			case a.all:
				s.fix(c, request.Name, &refused[c])
			default:
				key := chargeKey{class: a.class}
				if IsExtended(claim) {
					key.request = a.name
				}
				charges := s.free.chargesFor(key, a.name, c, s.quota.Charge)
				s.slots = append(s.slots, slot{claim: c, count: a.count, request: request.Name, charges: charges})
				differ = differ || len(charges) > 0 && slices.ContainsFunc(charges, func(charge Charge) bool { return charge != charges[0] })
			}
		}
	}
	// Shared devices with different policies may have the same minimum charge, but different charges when picked.
	return len(s.slots) > 0 && (differ || slices.ContainsFunc(s.free.devices, func(d *freeDevice) bool { return policyOf(d.Device) != policyOf(s.free.devices[0].Device) }))
}

// fix records the devices of a request for all devices. They cannot change.
func (s *deviceSearch) fix(claim int, request string, refused *resourceapi.AllocationResult) {
	for i := range refused.Devices.Results {
		if main, _, _ := strings.Cut(refused.Devices.Results[i].Request, "/"); main != request {
			continue
		}
		charge := s.quota.Charge(claim, &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: refused.Devices.Results[i : i+1]}})
		s.fixed = append(s.fixed, Slots{Claim: claim, Count: 1, Choices: []Choice{{Charge: charge, Devices: 1}}})
	}
}

type asked struct {
	// name is the name of the request in an allocation.
	name, class string
	count       int
	// all says that the request asks for all devices. free says that it is not charged.
	all, free bool
	selectors *[]resourceapi.DeviceSelector
}

// askedBy reads a request with at most one alternative.
func askedBy(request *resourceapi.DeviceRequest) asked {
	if exactly := request.Exactly; exactly != nil {
		return asked{
			name: request.Name, class: exactly.DeviceClassName, count: int(exactly.Count), selectors: &exactly.Selectors,
			all: exactly.AllocationMode == resourceapi.DeviceAllocationModeAll, free: ptr.Deref(exactly.AdminAccess, false),
		}
	}
	if len(request.FirstAvailable) == 0 {
		return asked{free: true}
	}
	alternative := &request.FirstAvailable[0]
	return asked{
		name: request.Name + "/" + alternative.Name, class: alternative.DeviceClassName, count: int(alternative.Count), selectors: &alternative.Selectors,
		all: alternative.AllocationMode == resourceapi.DeviceAllocationModeAll,
	}
}

// match determines the devices that match each slot, and their kinds. It makes the claims skip excluded devices.
func (s *deviceSearch) match() error {
	next, watch := 0, newStopwatch(s.effort, s.timed)
	for _, claim := range s.claims {
		for r := range claim.Spec.Devices.Requests {
			a := askedBy(&claim.Spec.Devices.Requests[r])
			if a.free || a.all {
				continue
			}
			matches, err := s.free.matches(s.ctx, a.class, *a.selectors, &watch)
			if err != nil {
				return err
			}
			s.slots[next].matches = matches
			*a.selectors = append([]resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: notExcluded}}}, *a.selectors...)
			next++
		}
	}
	known := map[string]int{}
	for i, device := range s.free.devices {
		key, used := policyOf(device.Device), false
		for j := range s.slots {
			if s.slots[j].matches[i] {
				key, used = fmt.Sprintf("%s %d:%d", key, j, s.slots[j].charges[i]), true
			}
		}
		if _, found := known[key]; !found {
			known[key] = len(known)
		}
		s.kinds = append(s.kinds, known[key])
		s.symmetric = s.symmetric && (device.plain || !used)
	}
	return nil
}

// choices counts the remaining devices for a slot.
func (slot *slot) choices(s *deviceSearch, kind, most int) (choices []Choice, devices int) {
	for i, device := range s.free.devices {
		if !slot.matches[i] || *device.excluded {
			continue
		}
		if s.kinds[i] == kind {
			if most == 0 {
				continue
			}
			most--
		}
		shared := ptr.Deref(device.AllowMultipleAllocations, false)
		at := slices.IndexFunc(choices, func(c Choice) bool { return c.Charge == slot.charges[i] && c.Shared == shared })
		if at < 0 {
			at, choices = len(choices), append(choices, Choice{Charge: slot.charges[i], Shared: shared})
		}
		choices[at].Devices++
		if devices++; shared {
			devices = max(devices, slot.count)
		}
	}
	return choices, devices
}
