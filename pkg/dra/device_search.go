// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// consumedUnknown is the consumed capacity of a device that can be shared, as long as nothing is picked.
var consumedUnknown = map[resourceapi.QualifiedName]resource.Quantity{}

// deviceSearch looks for devices that the quota accepts in place of those that it refused, for claims without
// alternatives.
//
// Devices are of the same kind if they come to the same and match the same requests. If the quota refuses a set of devices, it
// refuses every set that has as many of each kind. Any other set has fewer of some kind. So for each kind of the refused
// set, the search excludes devices of that kind until one fewer is left than was picked, and asks again. It ends early
// where the cheapest devices that are left would be refused, too. Two sets of the same devices differ only if classes
// overlap and charge a device differently; of those, only the one that Kubernetes' algorithm prefers is tried.
type deviceSearch struct {
	*picking
	claims []*resourceapi.ResourceClaim
	slots  []slot
	// kinds has the kind of each device that is free.
	kinds []int
	// fixed are the devices of requests for all devices.
	fixed []Slots
	// symmetric says that devices of a kind can be exchanged for each other.
	symmetric bool
}

// slot is a request for a number of devices.
type slot struct {
	claim, count int
	// request is the name of the request, without the alternative.
	request string
	charges []Charge
	matches []bool
}

// otherDevices returns devices that the quota accepts, nil if there are none.
func (p *picking) otherDevices(claims []*resourceapi.ResourceClaim, refused []resourceapi.AllocationResult) ([]resourceapi.AllocationResult, error) {
	if p.quota.Charge == nil {
		return nil, nil
	}
	if p.free == nil {
		p.free = newFreeDevices(p.allocator, p.slices)
		if err := p.effort.spend(len(p.free.devices) / 4); err != nil {
			return nil, err
		}
	}
	s := deviceSearch{picking: p, symmetric: true}
	if !s.chargesDiffer(claims, refused) {
		return nil, nil
	}
	if err := s.match(); err != nil || !s.viable(-1, 0) {
		return nil, err
	}
	return s.without(refused)
}

// chargesDiffer fills the slots, and reports whether it matters which devices are picked for them.
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
				charges := s.free.chargesFor(a.class, a.name, c, s.quota.Charge)
				s.slots = append(s.slots, slot{claim: c, count: a.count, request: request.Name, charges: charges})
				differ = differ || len(charges) > 0 && slices.ContainsFunc(charges, func(charge Charge) bool { return charge != charges[0] })
			}
		}
	}
	// Shared devices with different policies may come to the same at least, and to different amounts when they are picked.
	return len(s.slots) > 0 && (differ || slices.ContainsFunc(s.free.devices, func(d *freeDevice) bool { return policyOf(d.Device) != policyOf(s.free.devices[0].Device) }))
}

// fix notes the devices that a request for all devices has. They cannot be others.
func (s *deviceSearch) fix(claim int, request string, refused *resourceapi.AllocationResult) {
	for i := range refused.Devices.Results {
		if main, _, _ := strings.Cut(refused.Devices.Results[i].Request, "/"); main != request {
			continue
		}
		charge := s.quota.Charge(claim, &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: refused.Devices.Results[i : i+1]}})
		s.fixed = append(s.fixed, Slots{Claim: claim, Count: 1, Choices: []Choice{{Charge: charge, Devices: 1}}})
	}
}

// asked is what a request asks for.
type asked struct {
	// name is the name of the request in an allocation.
	name, class string
	count       int
	// all says that it asks for all devices, free that it is charged nothing.
	all, free bool
	selectors *[]resourceapi.DeviceSelector
}

// askedBy reads a request that has at most one alternative.
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

// match finds out which devices match each slot, and of which kind they are. It makes the claims leave out excluded devices.
func (s *deviceSearch) match() error {
	next := 0
	for _, claim := range s.claims {
		for r := range claim.Spec.Devices.Requests {
			a := askedBy(&claim.Spec.Devices.Requests[r])
			if a.free || a.all {
				continue
			}
			if err := s.effort.spend(len(s.free.devices) / 4); err != nil {
				return err
			}
			s.slots[next].matches = s.free.matches(s.ctx, a.class, *a.selectors)
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

// viable reports whether the devices that are left may be enough, and may be accepted, if at most so many devices of one
// kind are used for each slot. No kind is -1.
func (s *deviceSearch) viable(kind, most int) bool {
	slots := slices.Clone(s.fixed)
	for i := range s.slots {
		slot := &s.slots[i]
		choices, devices := slot.choices(s, kind, most)
		if devices < slot.count {
			return false
		}
		slots = append(slots, Slots{Claim: slot.claim, Count: slot.count, Choices: choices})
	}
	return s.quota.Possible(slots)
}

// choices counts the devices that are left for a slot.
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

// without looks for devices of which there are fewer of some kind than in a refused result.
func (s *deviceSearch) without(refused []resourceapi.AllocationResult) ([]resourceapi.AllocationResult, error) {
	picked := s.picked(refused)
	var tried []int
	for _, i := range picked {
		kind := s.kinds[i]
		if slices.Contains(tried, kind) {
			continue
		}
		tried = append(tried, kind)
		members, n := s.members(kind, picked)
		for left := range n {
			if err := s.effort.spend(1 + len(s.slots)*len(s.free.devices)/100); err != nil {
				return nil, err
			}
			if !s.viable(kind, left) {
				continue
			}
			if found, err := s.leaving(members, left); err != nil || found != nil {
				return found, err
			}
		}
	}
	return nil, nil
}

// picked lists the places among the free devices of the devices that were picked for slots.
func (s *deviceSearch) picked(results []resourceapi.AllocationResult) []int {
	var places []int
	for c := range results {
		for i := range results[c].Devices.Results {
			result := &results[c].Devices.Results[i]
			main, _, _ := strings.Cut(result.Request, "/")
			if !slices.ContainsFunc(s.slots, func(slot slot) bool { return slot.claim == c && slot.request == main }) {
				continue
			}
			if place := slices.Index(s.free.devices, s.free.byID[idOf(result)]); place >= 0 {
				places = append(places, place)
			}
		}
	}
	return places
}

// members lists the devices of a kind that are left, those that were picked first, and how many were picked.
func (s *deviceSearch) members(kind int, picked []int) (members []*freeDevice, n int) {
	for _, i := range picked {
		if s.kinds[i] != kind {
			continue
		}
		n++
		if !slices.Contains(members, s.free.devices[i]) {
			members = append(members, s.free.devices[i])
		}
	}
	for i, device := range s.free.devices {
		if s.kinds[i] == kind && !*device.excluded && !slices.Contains(members, device) {
			members = append(members, device)
		}
	}
	return members, n
}

// leaving excludes all but a number of devices, and asks again. If it matters which devices are left, it tries all.
func (s *deviceSearch) leaving(members []*freeDevice, left int) (found []resourceapi.AllocationResult, err error) {
	defer func() {
		for _, device := range members {
			*device.excluded = false
		}
	}()
	for chosen := range subsets(len(members), left) {
		for _, device := range members {
			*device.excluded = true
		}
		for _, i := range chosen {
			*members[i].excluded = false
		}
		if found, err = s.askAgain(); err != nil || found != nil || s.symmetric {
			return found, err
		}
	}
	return nil, nil
}

func (s *deviceSearch) askAgain() ([]resourceapi.AllocationResult, error) {
	solver, err := s.free.open(s.ctx)
	if err != nil {
		return nil, err
	}
	results, err := s.ask(solver, s.claims)
	if err != nil || results == nil {
		return nil, err
	}
	if s.quota.Accepts(results) {
		return results, nil
	}
	return s.without(results)
}

// subsets calls yield for each choice of k out of n numbers, in lexicographic order. The slice is reused.
func subsets(n, k int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		chosen := make([]int, k)
		for i := range chosen {
			chosen[i] = i
		}
		for k <= n && yield(chosen) {
			i := k - 1
			for i >= 0 && chosen[i] == n-k+i {
				i--
			}
			if i < 0 {
				return
			}
			for chosen[i]++; i+1 < k; i++ {
				chosen[i+1] = chosen[i] + 1
			}
		}
	}
}
