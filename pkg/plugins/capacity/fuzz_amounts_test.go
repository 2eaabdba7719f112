// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/card"
)

// fuzzAmounts are amounts by dimension: cpu in thousandths, memory, another resource, card/MODEL, class/CLASS,
// class/CLASS/memory.
type fuzzAmounts map[string]float64

func (a fuzzAmounts) add(b fuzzAmounts) {
	for dimension, amount := range b {
		a[dimension] += amount
	}
}

func requestsOfPod(pod *corev1.Pod) fuzzAmounts {
	return amountsOfList(pod.Spec.Containers[0].Resources.Requests)
}

// amountsOfList returns quantities as Volcano counts them. Volcano has no larger numbers.
func amountsOfList(list corev1.ResourceList) fuzzAmounts {
	amounts := fuzzAmounts{}
	for name, quantity := range list {
		amounts[string(name)] = min(quantity.AsApproximateFloat64(), math.MaxInt64/1000)
	}
	amounts["cpu"] *= 1000
	amounts["memory"] = math.Ceil(amounts["memory"])
	return amounts
}

// cardOf returns the card model that a pod with a node is charged for, and whether the node still has it.
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

// amountsOf returns the devices of an allocated claim, false if an allocation is for a nonexistent request.
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

// mostOf returns the maximum that a claim without devices counts for. It counts if its pod still runs.
func (c *fuzzCluster) mostOf(claim *resourcev1.ResourceClaim) fuzzAmounts {
	amounts := fuzzAmounts{}
	add := func(class string, count int64) {
		amounts["class/"+class] += float64(max(count, 1))
		if class == c.offering() {
			amounts[fuzzExtended] += float64(max(count, 1))
		}
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
