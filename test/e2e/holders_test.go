// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"sync"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// findings are violations that are found in the background, in the order of the API server's events.
type findings struct {
	mu    sync.Mutex
	found []string
}

func (f *findings) violations() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.found)
}

// holderWatch finds devices that are allocated to two claims at a time, although they cannot be shared.
type holderWatch struct {
	*findings
	holders map[string]*resourcev1.ResourceClaim
	held    map[types.UID][]string
}

func watchHolders(namespace string) *holderWatch {
	w := &holderWatch{findings: &findings{}, holders: map[string]*resourcev1.ResourceClaim{}, held: map[types.UID][]string{}}
	followClaims(namespace, w.see)
	return w
}

func (w *holderWatch) see(claim *resourcev1.ResourceClaim, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, device := range w.held[claim.UID] {
		if w.holders[device] != nil && w.holders[device].UID == claim.UID {
			delete(w.holders, device)
		}
	}
	delete(w.held, claim.UID)
	if gone || claim.Status.Allocation == nil {
		return
	}
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.ShareID != nil {
			continue
		}
		device := fmt.Sprint(result.Driver, "/", result.Pool, "/", result.Device)
		if other := w.holders[device]; other != nil {
			w.found = append(w.found, fmt.Sprintf("device %s is allocated to claim %s %v and to claim %s %v", device,
				other.Name, other.Status.ReservedFor, claim.Name, claim.Status.ReservedFor))
		}
		w.holders[device] = claim
		w.held[claim.UID] = append(w.held[claim.UID], device)
	}
}
