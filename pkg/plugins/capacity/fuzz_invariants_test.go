// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
)

// limitsOf returns the limits of a queue's own capability. Unlisted cards are missing.
func (c *fuzzCluster) limitsOf(queue *schedulingv1beta1.Queue) fuzzAmounts {
	limits := amountsOfList(queue.Spec.Capability)
	for _, name := range []string{"cpu", "memory"} {
		if limits[name] == 0 {
			delete(limits, name)
		}
	}
	if c.options.Name == CardName {
		delete(limits, "nvidia.com/gpu")
	}
	if dra := c.lastDRA[queue.UID]; dra != nil {
		for class, quota := range dra.Capability {
			limits["class/"+class] = float64(quota.Count)
			for name, quantity := range quota.Capacity {
				limits["class/"+class+"/"+name] = quantity.AsApproximateFloat64()
			}
		}
	}
	for model, count := range c.lastCards[queue.UID] {
		limits["card/"+model] = float64(count)
	}
	return limits
}

// hasNoDevices reports whether pods of a queue must get no devices, because the queue's quota has never been valid.
func (c *fuzzCluster) hasNoDevices(queue *schedulingv1beta1.Queue) bool {
	return queue.Spec.DRA != nil && !isValid(queue.Spec.DRA) && c.lastDRA[queue.UID] == nil
}

func isValid(dra *schedulingv1beta1.DRAQuota) bool {
	for _, quotas := range []schedulingv1beta1.DeviceQuotas{dra.Capability, dra.Deserved, dra.Guarantee} {
		for _, quota := range quotas {
			if quota.Count < 0 {
				return false
			}
		}
	}
	return true
}

// readQuotas remembers the quotas that a session can read.
func (c *fuzzCluster) readQuotas() {
	for _, queue := range c.queues {
		switch dra := queue.Spec.DRA; {
		case dra == nil:
			delete(c.lastDRA, queue.UID) // later, it is known whether the last one applies
		case isValid(dra):
			c.lastDRA[queue.UID] = dra
		}
		text, exists := queue.Annotations[schedulingv1beta1.CardQuotaAnnotation]
		if !exists {
			delete(c.lastCards, queue.UID)
			continue
		}
		quota := map[string]int64{}
		valid := json.Unmarshal([]byte(text), &quota) == nil
		for _, count := range quota {
			valid = valid && count >= 0
		}
		if valid {
			c.lastCards[queue.UID] = quota
		}
	}
}

// checkLimits fails if the placements of a session take a queue above its limit. A queue that was above its limit before must not grow.
func (c *fuzzCluster) checkLimits(before []fuzzHolding, placed []*schedulercache.BindContext) {
	after := c.holdings(decisionOf(slices.Concat(placed, c.late)))
	checked := map[string]bool{}
	for _, one := range placed {
		pod, exists := c.pods.get(one.TaskInfo.Name)
		if !exists || pod.UID != one.TaskInfo.Pod.UID {
			continue
		}
		c.checkPlace(pod, one)
		for _, name := range c.path(c.queueOf(pod)) {
			queue, exists := c.queues.get(name)
			if !exists || checked[name] {
				continue
			}
			checked[name] = true
			_, most := c.held(name, before)
			least, _ := c.held(name, after)
			for dimension, limit := range c.limitsOf(queue) {
				if c.options.CardUnlimitedCPUMemory && (dimension == "cpu" || dimension == "memory") {
					continue
				}
				if least[dimension] > limit && least[dimension] > most[dimension] {
					c.fail("queue %s holds %v of %s, more than %v and more than %v before\nbefore %v\nafter %v", name, least[dimension], dimension, limit, most[dimension], before, after)
				}
			}
		}
	}
}

// checkPlace fails if a pod should not have been placed, whatever the amounts are.
func (c *fuzzCluster) checkPlace(pod *corev1.Pod, decided *schedulercache.BindContext) {
	queue := c.queueOf(pod)
	path := c.path(queue)
	switch {
	case queue == "":
		c.fail("pod %s was placed although its queue is missing or misplaced", pod.Name)
	case len(pod.Spec.SchedulingGates) > 0:
		c.fail("pod %s was placed although it has gates", pod.Name)
	}
	devices := false
	if b, ok := decided.Extensions[Name].(*placement.Binding); ok {
		if b.Err != nil {
			return // it will not be bound
		}
		for _, claim := range b.Claims {
			devices = devices || len(claim.Status.ReservedFor) == 0
		}
	}
	for _, name := range path {
		if above, exists := c.queues.get(name); exists && devices && c.hasNoDevices(above) {
			c.fail("pod %s was given devices although the quota of queue %s cannot be read", pod.Name, name)
		}
	}
	inMemory := decisionOf([]*schedulercache.BindContext{decided}).extended(pod)
	c.checkServed(pod, decided, inMemory)
	if inMemory != nil {
		return
	}
	model, _ := c.cardOf(pod, decided.TaskInfo.NodeName)
	if model != "" && !c.allowsCard(path, model) {
		c.fail("pod %s was placed on a card %s that queue %s must not use", pod.Name, model, queue)
	}
}

// allowsCard reports whether the nearest queue that lists cards lists this one.
func (c *fuzzCluster) allowsCard(path []string, model string) bool {
	for _, name := range path {
		queue, exists := c.queues.get(name)
		if !exists {
			continue
		}
		if _, lists := queue.Annotations[schedulingv1beta1.CardQuotaAnnotation]; lists {
			_, listed := c.lastCards[queue.UID][model]
			return listed
		}
	}
	return !c.options.CardQuotaRequired
}

// checkLedger fails if a session does not begin with exactly one charge for everything that runs. It checks nothing if the plugin has
// deallocated a claim since it read the claims: it does so in the background.
func (c *fuzzCluster) checkLedger() {
	if c.options.Arguments != nil {
		return // the oracle does not know what devices match
	}
	if c.options.Devices && !maps.Equal(c.versions, c.claimVersions()) {
		return
	}
	books, held, dimensions := opened.snapshot.Ledger, opened.snapshot.Held(), opened.snapshot.Dimensions
	earlier := decisionOf(c.late)
	earlier.earlier = true
	all := c.holdings(earlier)
	for _, queue := range c.queues {
		id, found := books.Queue(queue.Name)
		if !found || c.path(queue.Name) == nil {
			continue
		}
		_, most := c.held(queue.Name, all)
		least, withUnused := c.heldByPodsThatStay(queue.Name, all)
		for name, dimension := range c.dimensions() {
			o := dimensions.Ordinal(dimension)
			got := books.Balance(id, ledger.Allocated, o).Float(1_000_000_000)
			if name == "cpu" {
				got *= 1000
			}
			if kept := held.Balance(id, ledger.Allocated, o).Float(1_000_000_000); dimension.Kind == ledger.DeviceCount && kept < withUnused[name]-1e-6 {
				c.fail("queue %s may get all but %v of %s, it and claims that nobody uses have %v: %v", queue.Name, kept, name, withUnused[name], all)
			}
			if tolerance := 1e-6 * max(1, got); got < least[name]-tolerance || got > most[name]+tolerance {
				c.fail("queue %s is charged for %v of %s, it has %v to %v: %v", queue.Name, got, name, least[name], most[name], all)
			}
		}
	}
}

// dimensions returns the dimensions to compare, by the names in amounts. Amounts of devices that are no longer published are unknown here.
func (c *fuzzCluster) dimensions() map[string]ledger.Dimension {
	named := map[string]ledger.Dimension{
		"cpu": {Kind: ledger.Resource, Name: "cpu"}, "memory": {Kind: ledger.Resource, Name: "memory"},
		"card/H100": {Kind: ledger.Card, Name: "H100"}, "card/A100": {Kind: ledger.Card, Name: "A100"},
	}
	offered := slices.ContainsFunc(c.nodes, func(node *corev1.Node) bool { return node.Status.Allocatable["nvidia.com/gpu"] != resource.Quantity{} })
	if c.options.Name != CardName && (offered || c.offering() != "") { // otherwise, the name has no dimension
		named["nvidia.com/gpu"] = ledger.Dimension{Kind: ledger.Resource, Name: "nvidia.com/gpu"}
	}
	if c.options.Devices && opened.checks.DevicesNotReady == nil {
		for class := range fuzzModels {
			if c.class(class) == nil {
				continue // it may have no dimension
			}
			named["class/"+class] = ledger.Dimension{Kind: ledger.DeviceCount, Name: class}
		}
	}
	return named
}

// heldByPodsThatStay returns the minimum that a queue is charged in the ledger, without the holdings of terminating pods and
// unused claims. It also returns the same with unused claims.
func (c *fuzzCluster) heldByPodsThatStay(queue string, all []fuzzHolding) (least, withUnused fuzzAmounts) {
	terminating, unused := map[string]bool{}, map[string]bool{}
	for _, pod := range c.pods {
		if pod.DeletionTimestamp == nil {
			continue
		}
		terminating["pod "+pod.Name], terminating["cards of pod "+pod.Name] = true, true
		for _, claim := range claimsOf(pod) {
			terminating["claim "+claim], terminating["resource of claim "+claim] = true, true
		}
	}
	for _, claim := range c.claims() {
		unused["resource of claim "+claim.Name] = !slices.ContainsFunc(c.pods, func(pod *corev1.Pod) bool { return uses(pod, claim) })
		unused["claim "+claim.Name] = !slices.ContainsFunc(c.pods, func(pod *corev1.Pod) bool { return uses(pod, claim) })
	}
	stay := slices.DeleteFunc(slices.Clone(all), func(h fuzzHolding) bool { return terminating[h.name] })
	withUnused, _ = c.held(queue, stay)
	least, _ = c.held(queue, slices.DeleteFunc(stay, func(h fuzzHolding) bool { return unused[h.name] }))
	return least, withUnused
}

// uses reports whether a claim is reserved for a pod that has not ended.
func uses(pod *corev1.Pod, claim *resourcev1.ResourceClaim) bool {
	return !isOver(pod) && slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID })
}
