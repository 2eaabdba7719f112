// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
)

// The following code counts what all pods and claims hold, with simple arithmetic on the objects. It shares no code with the ledger.

// fuzzHolding is what one pod or one claim holds.
type fuzzHolding struct {
	name    string
	amounts fuzzAmounts
	// queues are the queues that may be charged. If sure is set, exactly one of them is. Otherwise, any queue may be, or none.
	queues []string
	sure   bool
	// charged says that some queue is charged even if sure is not set.
	charged bool
}

// fuzzDecision is a session's decision about pods that are not bound yet.
type fuzzDecision struct {
	nodes  map[types.UID]string
	claims map[types.UID]*resourcev1.ResourceClaim
	// inMemory has the extended claims that are to be created, by the UID of their pod.
	inMemory map[types.UID]*resourcev1.ResourceClaim
	// earlier says that the session is not the last one: the devices may have been released since.
	earlier bool
}

func decisionOf(decided []*schedulercache.BindContext) fuzzDecision {
	d := fuzzDecision{nodes: map[types.UID]string{}, claims: map[types.UID]*resourcev1.ResourceClaim{}, inMemory: map[types.UID]*resourcev1.ResourceClaim{}}
	for _, one := range decided {
		d.nodes[one.TaskInfo.Pod.UID] = one.TaskInfo.NodeName
		if b, ok := one.Extensions[Name].(*placement.Binding); ok {
			for _, claim := range b.Claims {
				d.claims[claim.UID] = claim
				if dra.InMemory(claim) {
					d.inMemory[one.TaskInfo.Pod.UID] = claim
				}
			}
		}
	}
	return d
}

// holdings returns what all pods and claims hold.
func (c *fuzzCluster) holdings(d fuzzDecision) []fuzzHolding {
	var all []fuzzHolding
	for _, pod := range c.pods {
		node := c.nodeOf(pod, d)
		if node == "" || isOver(pod) {
			continue
		}
		queue := c.queueOf(pod)
		runs := pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending
		known := runs && queue != ""
		ours := pod.Spec.SchedulerName == "volcano" || chargerecord.Path(pod) != nil
		all = append(all, fuzzHolding{"pod " + pod.Name, requestsOfPod(pod), []string{queue}, known, runs && ours})
		if claim := d.extended(pod); claim != nil {
			object := c.claim(*claim)
			lost := (object == nil || object.Status.Allocation == nil) && d.inMemory[pod.UID] == nil
			if on, exists := c.nodes.get(node); exists && lost { // then, it may count like any other pod
				amounts := fuzzAmounts{"card/" + on.Labels["nvidia.com/gpu.product"]: requestsOfPod(pod)[fuzzExtended]}
				all = append(all, fuzzHolding{name: "cards of pod " + pod.Name, amounts: amounts, queues: []string{queue}})
			}
			continue // its claim says which cards it has
		}
		if model, stable := c.cardOf(pod, node); model != "" {
			amounts := fuzzAmounts{"card/" + model: math.Ceil(requestsOfPod(pod)["nvidia.com/gpu"])}
			all = append(all, fuzzHolding{"cards of pod " + pod.Name, amounts, []string{queue}, known && stable, runs && stable})
		}
	}
	if !c.options.Devices {
		return all
	}
	for _, claim := range c.claims() {
		all = append(all, c.claimHoldings(claim, d)...)
	}
	return slices.Concat(all, c.extendedHoldings(d), c.lostHoldings())
}

// claimHoldings returns what a claim holds. A claim without devices counts for its request if a pod with a node uses it.
func (c *fuzzCluster) claimHoldings(claim *resourcev1.ResourceClaim, d fuzzDecision) []fuzzHolding {
	var all []fuzzHolding
	queues, sure := c.queuesOf(claim, d)
	certain := claim.Status.Allocation != nil || !d.earlier
	if claim.Status.Allocation == nil {
		if len(queues) > 0 {
			all = append(all, fuzzHolding{name: "claim " + claim.Name, amounts: c.mostOf(claim), queues: queues})
		}
		decided := d.claims[claim.UID]
		if decided == nil {
			return all
		}
		claim.Status.Allocation = decided.Status.Allocation
	}
	amounts, countable := c.amountsOf(claim)
	if !countable {
		return all
	}
	all = append(all, fuzzHolding{"claim " + claim.Name, amounts, queues, sure && certain, certain})
	return append(all, c.resourceHoldings(claim, queues, sure && certain)...)
}

func (c *fuzzCluster) nodeOf(pod *corev1.Pod, d fuzzDecision) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	return d.nodes[pod.UID]
}

// path returns a queue and its ancestors. It is nil if the queue does not exist or is misplaced.
func (c *fuzzCluster) path(name string) []string {
	var path []string
	for {
		queue, exists := c.queues.get(name)
		if name == "root" && exists || name == "root" && len(path) > 0 {
			return append(path, name)
		}
		if !exists || slices.Contains(path, name) {
			return nil
		}
		path = append(path, name)
		if !c.options.Hierarchy || c.options.Name == CardName {
			return path
		}
		if name = queue.Spec.Parent; name == "" {
			name = "root"
		}
	}
}

// queuesOf returns the queues that may pay for a claim: the queue for which the claim got its devices, its ancestors, and the queues of the pods that
// hold the claim. sure says that exactly one of them is charged.
func (c *fuzzCluster) queuesOf(claim *resourcev1.ResourceClaim, d fuzzDecision) (queues []string, sure bool) {
	sure = true
	if claim.Status.Allocation != nil {
		queues = c.payersOf(claim)
	}
	for _, pod := range c.pods {
		reserved := slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID })
		refers := slices.Contains(claimsOf(pod), claim.Name)
		if !reserved && (!refers || c.nodeOf(pod, d) == "" || pod.DeletionTimestamp != nil) {
			continue
		}
		queue := c.queueOf(pod)
		if queue == "" || !refers || isOver(pod) || pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodPending ||
			!reserved && dra.Bound(pod) { // it may use another claim of this name
			sure = false
		}
		queues = append(queues, queue)
	}
	return queues, sure && len(queues) > 0
}

// claimsOf returns the names of a pod's claims that exist or are named.
func claimsOf(pod *corev1.Pod) []string {
	var names []string
	for _, reference := range pod.Spec.ResourceClaims {
		if reference.ResourceClaimName != nil {
			names = append(names, *reference.ResourceClaimName)
		}
	}
	for _, status := range pod.Status.ResourceClaimStatuses {
		names = append(names, ptr.Deref(status.ResourceClaimName, ""))
	}
	if status := pod.Status.ExtendedResourceClaimStatus; status != nil {
		names = append(names, status.ResourceClaimName)
	}
	return names
}

// held returns the minimum and maximum that a queue and the queues below it hold.
func (c *fuzzCluster) held(queue string, all []fuzzHolding) (least, most fuzzAmounts) {
	least, most = fuzzAmounts{}, fuzzAmounts{}
	for _, h := range all {
		within := 0
		for _, holder := range h.queues {
			if slices.Contains(c.path(holder), queue) {
				within++
			}
		}
		top := queue == "root" && c.options.Hierarchy && c.options.Name == Name
		if h.sure && within == len(h.queues) || top && h.charged {
			least.add(h.amounts)
		}
		if !h.sure || within > 0 {
			most.add(h.amounts)
		}
	}
	return least, most
}
