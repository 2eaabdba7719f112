// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// quotaChange is a change of quotas that the scheduler may not have read yet.
type quotaChange struct {
	limits map[string]holdings
	// shown is the number of cycles when the scheduler first showed the new quotas, or zero.
	shown int
}

// startChange changes quotas, unless the scheduler has not read the last change yet. Until it has, the accounts use the higher limits.
func (k *disturbedSoak) startChange(ctx context.Context, quotas map[string]*schedulingv1beta1.DRAQuota) {
	if k.change != nil {
		return
	}
	k.change = &quotaChange{limits: map[string]holdings{}}
	for name, dra := range quotas {
		k.change.limits[name] = k.capabilityOf(dra)
		k.raise(name, k.change.limits[name])
		setQuota(ctx, k.queues[name], dra)
	}
}

// settle lowers the limits of the accounts once the scheduler decides with the new quotas. What it assigned before may still be on its way
// to the API server. It is in the scheduler's charge, which falls to the new limit before more can be assigned.
func (k *disturbedSoak) settle(ctx context.Context) {
	if k.change == nil {
		return
	}
	charges := map[string]holdings{}
	for name, limits := range k.change.limits {
		shown := k.byModel(account(ctx, k.queues[name], "capability"))
		for dimension, limit := range limits {
			if shown[dimension] != limit {
				k.change.shown = 0
				return
			}
		}
		charges[name] = k.byModel(account(ctx, k.queues[name], "allocated"))
	}
	now := cycles(ctx)
	if k.change.shown == 0 {
		k.change.shown = now
	}
	if now < k.change.shown+3 { // the charges may be older than the new quotas
		return
	}
	settled := true
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, limits := range k.change.limits {
		for dimension, limit := range limits {
			k.capability[name][dimension] = max(limit, charges[name][dimension])
			settled = settled && k.capability[name][dimension] == limit
		}
	}
	if settled {
		k.change = nil
	}
}

// byModel returns an account of the scheduler by model and dimension, without the classes of others.
func (k *disturbedSoak) byModel(account map[string]float64) holdings {
	h := holdings{}
	for name, amount := range account {
		class, dimension, _ := strings.Cut(name, "/")
		if model := k.models[class]; model != "" {
			h[model+"/"+dimension] = amount
		}
	}
	return h
}

// charged returns what a queue and the queues below it must be charged for allocated claims. Memory is charged where a quota limits it.
func (k *disturbedSoak) charged(name string) holdings {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := holdings{}
	for dimension, amount := range k.allocated[name] {
		_, limited := k.capability[name][dimension]
		_, above := k.capability["ml"][dimension]
		if amount != 0 && (limited || above) {
			h[dimension] = amount
		}
	}
	return h
}
