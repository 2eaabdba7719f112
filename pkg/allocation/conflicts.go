// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"cmp"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/devicequota/devicequota/pkg/dra"
)

// holders knows the claims that hold each device. It follows claim events, so a session reads conflicts without a scan of all
// claims. It is safe for concurrent use.
type holders struct {
	mu sync.Mutex
	// claims holds the allocated claims.
	claims map[types.UID]*resourceapi.ResourceClaim
	// devices lists the claims that hold each device, in the order in which the allocations were seen.
	devices map[dra.DeviceID][]types.UID
	// conflicts holds the devices in conflict.
	conflicts map[dra.DeviceID]bool
	catalog   *dra.Catalog
}

func newHolders() *holders {
	return &holders{claims: map[types.UID]*resourceapi.ResourceClaim{}, devices: map[dra.DeviceID][]types.UID{}, conflicts: map[dra.DeviceID]bool{}}
}

func (h *holders) handler() cache.ResourceEventHandler {
	return claimHandler(func(claim *resourceapi.ResourceClaim) { h.set(claim.UID, claim) }, func(claim *resourceapi.ResourceClaim) { h.set(claim.UID, nil) })
}

// claimHandler calls exists for each state of a claim, and deleted for its last one, also if the claim was created again.
func claimHandler(exists, deleted func(*resourceapi.ResourceClaim)) cache.ResourceEventHandler {
	call := func(do func(*resourceapi.ResourceClaim)) func(any) {
		return func(object any) {
			if claim, ok := object.(*resourceapi.ResourceClaim); ok {
				do(claim)
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: call(exists),
		UpdateFunc: func(before, now any) {
			was, ok := before.(*resourceapi.ResourceClaim)
			is, _ := now.(*resourceapi.ResourceClaim)
			if ok && is != nil && was.UID != is.UID {
				deleted(was)
			}
			call(exists)(now)
		},
		DeleteFunc: call(deleted),
	}
}

// set records the state of a claim. A nil claim is deleted.
func (h *holders) set(uid types.UID, claim *resourceapi.ResourceClaim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, now := dra.DevicesOf(h.claims[uid]), dra.DevicesOf(claim)
	if now == nil {
		delete(h.claims, uid)
	} else {
		h.claims[uid] = claim
	}
	for id := range before {
		if !now[id] {
			h.devices[id] = slices.DeleteFunc(h.devices[id], func(holder types.UID) bool { return holder == uid })
			h.check(id)
		}
	}
	for id := range now {
		if !before[id] {
			h.devices[id] = append(h.devices[id], uid)
			h.check(id)
		}
	}
}

func (h *holders) check(id dra.DeviceID) {
	if len(h.devices[id]) == 0 {
		delete(h.devices, id)
	}
	if dra.AllocatedTwice(id, h.holding(id), h.catalog) {
		h.conflicts[id] = true
	} else {
		delete(h.conflicts, id)
	}
}

func (h *holders) holding(id dra.DeviceID) []*resourceapi.ResourceClaim {
	var claims []*resourceapi.ResourceClaim
	for _, uid := range h.devices[id] {
		claims = append(claims, h.claims[uid])
	}
	return claims
}

// besides returns the allocated claims that are missing in a cache's list. The cache has just dropped them.
func (h *holders) besides(listed []*resourceapi.ResourceClaim) []*resourceapi.ResourceClaim {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.claims) <= len(listed) {
		return nil // only for speed: usually, both are equal
	}
	known := make(map[types.UID]bool, len(listed))
	for _, claim := range listed {
		known[claim.UID] = true
	}
	var others []*resourceapi.ResourceClaim
	for uid, claim := range h.claims {
		if !known[uid] {
			others = append(others, claim)
		}
	}
	return others
}

// use sets the published devices. They determine how much of a device can be shared.
func (h *holders) use(catalog *dra.Catalog) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.catalog == catalog {
		return
	}
	h.catalog = catalog
	for id, claims := range h.devices {
		if len(claims) > 1 {
			h.check(id)
		}
	}
}

func (h *holders) all() []dra.Conflict {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []dra.Conflict
	for id := range h.conflicts {
		all = append(all, dra.Conflict{Device: id, Claims: h.holding(id)})
	}
	slices.SortFunc(all, func(a, b dra.Conflict) int { return cmp.Compare(a.Device.String(), b.Device.String()) })
	return all
}

// of returns a conflict for which an allocated claim must give up its devices, or nil. The claim must do so if earlier claims
// leave no room. Earlier claims are claims whose allocations were seen earlier. Claims that are settled also count, because a
// pod outside of this scheduler's control uses them. The order is the same for all claims, so two claims never give way to each
// other. of calls settled without a lock.
func (h *holders) of(claim *resourceapi.ResourceClaim, settled func(*resourceapi.ResourceClaim) bool) *dra.Conflict {
	for id := range dra.Used(claim.Status.Allocation) {
		h.mu.Lock()
		others, catalog := h.holding(id), h.catalog
		h.mu.Unlock()
		at := slices.IndexFunc(others, func(other *resourceapi.ResourceClaim) bool { return other.UID == claim.UID })
		if at < 0 {
			at = len(others) // the allocation is not written yet
		}
		before := slices.Clone(others[:at])
		for i := at + 1; i < len(others); i++ {
			if settled(others[i]) {
				before = append(before, others[i])
			}
		}
		if all := append(before, claim); dra.AllocatedTwice(id, all, catalog) {
			return &dra.Conflict{Device: id, Claims: all}
		}
	}
	return nil
}

// Settled returns a function that reports whether a claim keeps its devices regardless of this scheduler. This is the case if a
// pod that uses the claim has a node, belongs to another scheduler, or is unknown. waiting is a pod of this scheduler.
func Settled(waiting *corev1.Pod, get func(namespace, name string) (*corev1.Pod, error)) func(*resourceapi.ResourceClaim) bool {
	return func(claim *resourceapi.ResourceClaim) bool {
		return slices.ContainsFunc(claim.Status.ReservedFor, func(consumer resourceapi.ResourceClaimConsumerReference) bool {
			pod, err := get(claim.Namespace, consumer.Name)
			return err != nil || pod.UID != consumer.UID || dra.Bound(pod) || pod.Spec.SchedulerName != waiting.Spec.SchedulerName
		})
	}
}
