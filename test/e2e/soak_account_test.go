// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
)

// watch starts to keep accounts of all queues.
func (k *soak) watch() { followClaims(k.namespace, k.see) }

// see updates the accounts for a changed claim, and records violations. A queue with a lowered quota may keep what it has, but not get more.
func (k *soak) see(claim *resourcev1.ResourceClaim, gone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.claims[claim.UID]
	now := claimHoldings{queue: was.queue, holdings: holdings{}}
	if !gone && claim.Status.Allocation != nil {
		now = claimHoldings{queueOf(claim), holdingsOf(claim)}
	}
	if now.queue == "" {
		return
	}
	k.claims[claim.UID] = now
	for _, name := range slices.Compact([]string{now.queue, "ml"}) {
		before := maps.Clone(k.allocated[name])
		for dimension, amount := range was.holdings {
			k.allocated[name][dimension] -= amount
		}
		for dimension, amount := range now.holdings {
			k.allocated[name][dimension] += amount
		}
		for dimension, limit := range k.capability[name] {
			allocated := k.allocated[name][dimension]
			k.most[name][dimension] = max(k.most[name][dimension], allocated)
			if allocated > max(limit, before[dimension]) {
				k.broken = append(k.broken, fmt.Sprintf("%s: queue %s uses %g of %s, more than %g", claim.Name, name, allocated, dimension, limit))
			}
		}
	}
}

// queueOf returns the queue that a claim is charged to. The name of the claim's pod begins with the queue, or the name of the claim if it has no pod.
func queueOf(claim *resourcev1.ResourceClaim) string {
	owner := claim.Name
	if len(claim.OwnerReferences) > 0 {
		owner = claim.OwnerReferences[0].Name
	}
	queue, _, _ := strings.Cut(owner, "-")
	return queue
}

func holdingsOf(claim *resourcev1.ResourceClaim) holdings {
	h := holdings{}
	for _, result := range claim.Status.Allocation.Devices.Results {
		model, _, _ := strings.Cut(result.Device, "-")
		h[model+"/count"]++
		h[model+"/memory"] += memoryOf[model]
		if consumed, shared := result.ConsumedCapacity["memory"]; shared {
			h[model+"/memory"] += consumed.AsApproximateFloat64()
		}
	}
	return h
}

func (k *soak) violations() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.broken
}
