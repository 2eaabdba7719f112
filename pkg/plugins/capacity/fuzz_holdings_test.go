// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulercache "volcano.sh/volcano/pkg/scheduler/cache"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/record"
)

// What follows counts, with simple arithmetic on the objects, what everybody holds. It shares no code with the ledger.

// fuzzAmounts are amounts by dimension: cpu in thousandths, memory, another resource, card/MODEL, class/CLASS,
// class/CLASS/memory.
type fuzzAmounts map[string]float64

func (a fuzzAmounts) add(b fuzzAmounts) {
	for dimension, amount := range b {
		a[dimension] += amount
	}
}

// fuzzHolding is what one pod or one claim holds.
type fuzzHolding struct {
	name    string
	amounts fuzzAmounts
	// queues are those that may be charged. Exactly one of them is, if sure is set. Otherwise, any queue may be, or none.
	queues []string
	sure   bool
	// charged says that some queue is charged even if sure is not set.
	charged bool
}

// fuzzDecision is what a session has decided for pods that are not bound yet.
type fuzzDecision struct {
	nodes  map[types.UID]string
	claims map[types.UID]*resourcev1.ResourceClaim
}

func decisionOf(decided []*schedulercache.BindContext) fuzzDecision {
	d := fuzzDecision{nodes: map[types.UID]string{}, claims: map[types.UID]*resourcev1.ResourceClaim{}}
	for _, one := range decided {
		d.nodes[one.TaskInfo.Pod.UID] = one.TaskInfo.NodeName
		if b, ok := one.Extensions[Name].(*binding); ok {
			for _, claim := range b.claims {
				d.claims[claim.UID] = claim
			}
		}
	}
	return d
}

// holdings returns what all pods and claims hold. Resources of terminating pods are left out, as in Volcano.
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
		if pod.DeletionTimestamp == nil {
			ours := pod.Spec.SchedulerName == "volcano" || record.Path(pod) != nil
			all = append(all, fuzzHolding{"pod " + pod.Name, requestsOfPod(pod), []string{queue}, known, runs && ours})
		}
		if model, stable := c.cardOf(pod, node); model != "" {
			amounts := fuzzAmounts{"card/" + model: math.Ceil(requestsOfPod(pod)["nvidia.com/gpu"])}
			all = append(all, fuzzHolding{"cards of pod " + pod.Name, amounts, []string{queue}, known && stable, runs && stable})
		}
	}
	for _, claim := range c.claims() {
		if claim.Status.Allocation == nil && d.claims[claim.UID] != nil {
			claim.Status.Allocation = d.claims[claim.UID].Status.Allocation
		}
		if !c.options.Devices {
			continue
		}
		if claim.Status.Allocation == nil {
			all = append(all, fuzzHolding{name: "claim " + claim.Name, amounts: c.mostOf(claim)})
			continue
		}
		amounts, countable := c.amountsOf(claim)
		if !countable {
			continue
		}
		queues, sure := c.queuesOf(claim, d)
		all = append(all, fuzzHolding{"claim " + claim.Name, amounts, queues, sure, true})
	}
	return all
}

func (c *fuzzCluster) nodeOf(pod *corev1.Pod, d fuzzDecision) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	return d.nodes[pod.UID]
}

// queueOf returns the queue of a pod. It is empty if the PodGroup or the queue is missing, if the queue is misplaced, or if the
// pod waits for another scheduler.
func (c *fuzzCluster) queueOf(pod *corev1.Pod) string {
	group, exists := c.groups.get(pod.Annotations[upstreamv1beta1.KubeGroupNameAnnotationKey])
	if !exists || c.path(group.Spec.Queue) == nil || !seesPod(pod) {
		return ""
	}
	return group.Spec.Queue
}

// path returns a queue and those above it. It is nil if the queue does not exist or is misplaced.
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

func requestsOfPod(pod *corev1.Pod) fuzzAmounts {
	return amountsOfList(pod.Spec.Containers[0].Resources.Requests)
}

// amountsOfList returns quantities as Volcano counts them: it has no larger numbers.
func amountsOfList(list corev1.ResourceList) fuzzAmounts {
	amounts := fuzzAmounts{}
	for name, quantity := range list {
		amounts[string(name)] = min(quantity.AsApproximateFloat64(), math.MaxInt64/1000)
	}
	amounts["cpu"] *= 1000
	amounts["memory"] = math.Ceil(amounts["memory"])
	return amounts
}

// cardOf returns the card model that a pod with a node is charged for, and whether the node has it still.
func (c *fuzzCluster) cardOf(pod *corev1.Pod, nodeName string) (model string, stable bool) {
	if requestsOfPod(pod)["nvidia.com/gpu"] == 0 {
		return "", false
	}
	now := ""
	if node, exists := c.nodes.get(nodeName); exists {
		now = node.Labels["nvidia.com/gpu.product"]
	}
	if before := c.cards[pod.UID]; before != "" {
		return before, before == now
	}
	c.cards[pod.UID] = now
	return now, true
}

// amountsOf returns the devices of an allocated claim. It is false if an allocation is for a request that does not exist.
func (c *fuzzCluster) amountsOf(claim *resourcev1.ResourceClaim) (fuzzAmounts, bool) {
	amounts := fuzzAmounts{}
	for _, result := range claim.Status.Allocation.Devices.Results {
		if ptr.Deref(result.AdminAccess, false) {
			continue
		}
		class := classOfRequest(claim, result.Request)
		if class == "" {
			return nil, false
		}
		amounts["class/"+class]++
		if consumed, shared := result.ConsumedCapacity["memory"]; shared {
			amounts["class/"+class+"/memory"] += consumed.AsApproximateFloat64()
		} else if device := c.device(result.Pool, result.Device); device != nil {
			whole := device.Capacity["memory"].Value
			amounts["class/"+class+"/memory"] += whole.AsApproximateFloat64()
		}
		if object := c.class(class); object != nil && object.Annotations[card.NameAnnotation] != "" {
			amounts["card/"+object.Annotations[card.NameAnnotation]]++
		}
	}
	return amounts, true
}

// mostOf returns the most that a claim without devices counts for: it counts if its pod runs all the same.
func (c *fuzzCluster) mostOf(claim *resourcev1.ResourceClaim) fuzzAmounts {
	amounts := fuzzAmounts{}
	add := func(class string, count int64) {
		amounts["class/"+class] += float64(max(count, 1))
		if object := c.class(class); object != nil && object.Annotations[card.NameAnnotation] != "" {
			amounts["card/"+object.Annotations[card.NameAnnotation]] += float64(max(count, 1))
		}
	}
	for _, request := range claim.Spec.Devices.Requests {
		if request.Exactly != nil {
			add(request.Exactly.DeviceClassName, request.Exactly.Count)
		}
		for _, alternative := range request.FirstAvailable {
			add(alternative.DeviceClassName, alternative.Count)
		}
	}
	return amounts
}

func classOfRequest(claim *resourcev1.ResourceClaim, name string) string {
	main, sub, _ := strings.Cut(name, "/")
	for _, request := range claim.Spec.Devices.Requests {
		if request.Name != main {
			continue
		}
		if request.Exactly != nil {
			return request.Exactly.DeviceClassName
		}
		for _, alternative := range request.FirstAvailable {
			if alternative.Name == sub {
				return alternative.DeviceClassName
			}
		}
	}
	return ""
}

// queuesOf returns the queues of the pods that hold a claim, and whether exactly one of them is charged for sure.
func (c *fuzzCluster) queuesOf(claim *resourcev1.ResourceClaim, d fuzzDecision) (queues []string, sure bool) {
	sure = true
	for _, pod := range c.pods {
		reserved := slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID })
		refers := slices.Contains(claimsOf(pod), claim.Name)
		if !reserved && (!refers || c.nodeOf(pod, d) == "" || pod.DeletionTimestamp != nil) {
			continue
		}
		queue := c.queueOf(pod)
		if queue == "" || !refers || isOver(pod) || pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodPending {
			sure = false
		}
		queues = append(queues, queue)
	}
	return queues, sure && len(queues) > 0
}

// claimsOf returns the names of the claims of a pod that exist or are named.
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
	return names
}

// held returns the least and the most that a queue and the queues below it hold.
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
