// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"
	"errors"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// countedFrom is the number of needed devices from which matching devices are counted before a search. If one of n devices is
// missing, Kubernetes' algorithm tries the others in every order, which is n! ways. For eight devices, this takes too long.
const countedFrom = 4

// short reports whether too few devices are free for claims, whichever are picked. It may miss a shortage. It skips claims and
// devices for which Kubernetes' algorithm may return an error.
func (a *Allocator) short(ctx context.Context, slices []*resourceapi.ResourceSlice, claims []*resourceapi.ResourceClaim, effort *NodeEffort, timed bool) (bool, error) {
	wants, total := a.countable(claims)
	if total == 0 {
		return false, nil
	}
	free, known := a.free(slices)
	switch {
	case !known:
		return false, nil
	case len(free) == 0:
		_ = effort.exhaust(len(wants)) // too little effort does not change the answer
		return true, nil
	case total < countedFrom:
		return false, nil
	}
	m := assignment{owners: make([]int, len(free))}
	for i := range m.owners {
		m.owners[i] = nobody
	}
	short, watch := false, newStopwatch(effort, timed)
	for i := range wants {
		suits, certain, err := a.suitable(ctx, free, &wants[i], &watch)
		if err != nil {
			return false, effort.unfinished(claims)
		}
		if !certain {
			break
		}
		if suits == nil {
			continue // a shareable device may be enough for all
		}
		if short = !m.add(suits, wants[i].count); short {
			break
		}
	}
	work := m.steps / 100
	if short {
		work += len(wants) // a search would have cost more
	}
	if err := effort.exhaust(work); errors.Is(err, errTooMuch) && !short {
		return false, effort.unfinished(claims)
	}
	return short, nil
}

// want is the least number of devices that one request needs, with the devices it may get.
type want struct {
	count int64
	// alternatives lists classes with selectors. A device must match one of them.
	alternatives []alternative
}

type alternative struct {
	class     string
	selectors []resourceapi.DeviceSelector
	// cost is what it takes to evaluate the selectors for a device.
	cost int
}

func newAlternative(class string, selectors []resourceapi.DeviceSelector) alternative {
	one := alternative{class: class, selectors: selectors}
	for _, expression := range expressionsOf(selectors) {
		one.cost += 1 + len(expression)/lengthOfUnit
	}
	return one
}

// countable returns the least needs of the requests of claims, and the total number of devices. The total is 0 if it is uncertain.
// Constraints are ignored, because they can only increase the needs.
func (a *Allocator) countable(claims []*resourceapi.ResourceClaim) (wants []want, total int64) {
	for _, claim := range claims {
		needs := a.needsOf(claim)
		if !needs.known {
			return nil, 0
		}
		if len(claims) == 1 {
			return needs.wants, needs.total
		}
		wants, total = append(wants, needs.wants...), total+needs.total
	}
	return wants, total
}

// leastNeeds are the least needs of the requests of a claim. They are not known if they are uncertain.
type leastNeeds struct {
	wants []want
	total int64
	known bool
}

// needsOf returns the least needs of a claim. Claims from informers do not change, and a session asks for the same claims once for each pod and node.
func (a *Allocator) needsOf(claim *resourceapi.ResourceClaim) *leastNeeds {
	sum := a.catalog.selectors.of(claim)
	sum.counted.Do(func() { sum.needs = a.count(claim) })
	return sum.needs
}

func (a *Allocator) count(claim *resourceapi.ResourceClaim) *leastNeeds {
	needs := &leastNeeds{}
	for i := range claim.Spec.Devices.Requests {
		w, known := a.wantOf(&claim.Spec.Devices.Requests[i])
		if !known {
			return needs
		}
		needs.wants, needs.total = append(needs.wants, w), needs.total+w.count
	}
	for i := range claim.Spec.Devices.Constraints {
		if claim.Spec.Devices.Constraints[i].MatchAttribute == nil {
			return needs
		}
	}
	needs.known = needs.total <= resourceapi.AllocationResultsMaxSize
	return needs
}

// wantOf returns the least need of a request. It is the smallest count of all alternatives.
func (a *Allocator) wantOf(request *resourceapi.DeviceRequest) (w want, known bool) {
	if exactly := request.Exactly; exactly != nil {
		known = exactly.AllocationMode == resourceapi.DeviceAllocationModeExactCount && !ptr.Deref(exactly.AdminAccess, false)
		_, found := a.catalog.Class(exactly.DeviceClassName)
		return want{exactly.Count, []alternative{newAlternative(exactly.DeviceClassName, exactly.Selectors)}}, known && found
	}
	if len(request.FirstAvailable) == 0 || !a.features.PrioritizedList {
		return w, false
	}
	for i := range request.FirstAvailable {
		one := &request.FirstAvailable[i]
		if _, found := a.catalog.Class(one.DeviceClassName); !found || one.AllocationMode != resourceapi.DeviceAllocationModeExactCount {
			return w, false
		}
		if i == 0 || one.Count < w.count {
			w.count = one.Count
		}
		w.alternatives = append(w.alternatives, newAlternative(one.DeviceClassName, one.Selectors))
	}
	return w, true
}

type unused struct {
	*resourceapi.Device
	driver string
}

// free returns the devices that are not in use. It returns false if Kubernetes' algorithm may look at other devices.
func (a *Allocator) free(slices []*resourceapi.ResourceSlice) ([]unused, bool) {
	var free []unused
	for _, slice := range slices {
		if slice.Spec.NodeSelector != nil {
			return nil, false
		}
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			id := DeviceID{slice.Spec.Driver, slice.Spec.Pool.Name, device.Name}
			if published, _ := a.catalog.Device(id); published != device || device.NodeSelector != nil {
				return nil, false
			}
			if !a.taken.AllocatedDevices.Has(structured.MakeDeviceID(id.Driver, id.Pool, id.Device)) {
				free = append(free, unused{device, id.Driver})
			}
		}
	}
	return free, true
}

// suitable returns the devices that a request may get. It is nil if one of them is shareable, and not certain if a selector
// fails. The error is errTooMuch if the evaluation costs too much or takes too long.
func (a *Allocator) suitable(ctx context.Context, free []unused, w *want, watch *stopwatch) (suits []int, certain bool, err error) {
	suits = []int{}
	for i, device := range free {
		for _, one := range w.alternatives {
			matches, fault := a.ofClass(ctx, device, one.class)
			if fault == nil && matches {
				if err := watch.effort.spend(one.cost); err != nil {
					return nil, false, err
				}
				matches, fault = a.selects(ctx, device, one.selectors)
			}
			if err := watch.lap(); err != nil {
				return nil, false, err
			}
			if fault != nil {
				return nil, false, nil
			}
			if !matches {
				continue
			}
			if ptr.Deref(device.AllowMultipleAllocations, false) {
				return nil, true, nil
			}
			suits = append(suits, i)
			break
		}
	}
	return suits, true, nil
}

// membership is what is known of the classes that a device matches.
type membership struct {
	mu sync.Mutex
	of map[string]answer
}

// answer says whether a device matches a class. A selector that fails for a device fails again.
type answer struct {
	matches bool
	err     error
}

func (a *Allocator) ofClass(ctx context.Context, device unused, name string) (bool, error) {
	known := a.catalog.members[device.Device]
	if known == nil {
		known = &membership{} // of an earlier generation
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	if found, is := known.of[name]; is {
		return found.matches, found.err
	}
	class, _ := a.catalog.Class(name)
	matches, err := a.selects(ctx, device, class.Spec.Selectors)
	if ctx.Err() == nil {
		if known.of == nil {
			known.of = map[string]answer{}
		}
		known.of[name] = answer{matches, err}
	}
	return matches, err
}

func (a *Allocator) selects(ctx context.Context, device unused, selectors []resourceapi.DeviceSelector) (bool, error) {
	for _, expression := range expressionsOf(selectors) {
		compiled := a.celCache.GetOrCompile(expression)
		if compiled.Error != nil {
			return false, compiled.Error
		}
		if matches, _, err := compiled.DeviceMatches(ctx, described(device.driver, device.Device)); err != nil || !matches {
			return false, err
		}
	}
	return true, nil
}
