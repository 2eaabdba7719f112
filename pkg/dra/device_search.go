// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
)

// deviceSearch looks for devices that the quota accepts instead of refused ones, for claims without alternatives.
//
// Devices are of the same kind if they have the same charges and match the same requests. If the quota refuses a set of
// devices, it refuses every set with as many of each kind. Any other set has fewer of some kind. For each kind of the refused
// set, the search therefore excludes devices of that kind until fewer are left than were picked, and asks again. It stops early
// where even the cheapest remaining devices would be refused. Two sets of the same devices differ only if classes overlap and
// charge a device differently. Of these sets, the search tries only the one that Kubernetes' algorithm prefers.
type deviceSearch struct {
	*picking
	claims []*resourceapi.ResourceClaim
	slots  []slot
	// kinds is the kind of each free device.
	kinds []int
	// fixed holds the devices of requests for all devices.
	fixed []Slots
	// symmetric says that devices of a kind are interchangeable.
	symmetric bool
}

// otherDevices returns devices that the quota accepts, or nil.
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

// viable reports whether the remaining devices may be enough and may be accepted, if each slot uses at most most devices of one
// kind. The kind -1 means no kind.
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

// without looks for devices with fewer of some kind than a refused result.
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
		// A shared device can be picked several times, so fewer devices can be left than were picked.
		for left := range min(n, len(members)) {
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

// picked returns the indexes, among the free devices, of the devices picked for slots.
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

// members returns the remaining devices of a kind, picked ones first, and the number of picked devices.
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

// leaving excludes all but a number of devices, and asks again. If it matters which devices are left, it tries all choices.
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
	// Kubernetes' algorithm evaluates the selectors once more for each device.
	if err := s.effort.spend(len(s.free.devices) / 10); err != nil {
		return nil, err
	}
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

// subsets calls yield for each choice of k out of n numbers, in lexicographic order. It reuses the slice.
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
