// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/card"
)

func (c *fuzzCluster) slices() []resourcev1.ResourceSlice {
	list, err := c.kube.ResourceV1().ResourceSlices().List(context.Background(), metav1.ListOptions{})
	c.try(err)
	return list.Items
}

func (c *fuzzCluster) class(name string) *resourcev1.DeviceClass {
	class, err := c.kube.ResourceV1().DeviceClasses().Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return class
}

// publisher returns a device of the driver and its slice, nil if no slice has it.
func (c *fuzzCluster) publisher(pool, name string) (*resourcev1.ResourceSlice, *resourcev1.Device) {
	for _, slice := range c.slices() {
		for i := range slice.Spec.Devices {
			if slice.Spec.Driver == fuzzDriver && slice.Spec.Pool.Name == pool && slice.Spec.Devices[i].Name == name {
				return &slice, &slice.Spec.Devices[i]
			}
		}
	}
	return nil, nil
}

// allocated returns the names of allocated claims.
func (c *fuzzCluster) allocated() map[string]bool {
	names := map[string]bool{}
	for _, claim := range c.claims() {
		if claim.Status.Allocation != nil {
			names[claim.Name] = true
		}
	}
	return names
}

// checkBound fails if a bound pod lacks devices, or if claims allocated for it have devices that they must not have.
// fresh says that nothing has changed since they were picked.
func (c *fuzzCluster) checkBound(name string, before map[string]bool, fresh bool) {
	pod, exists := c.pods.get(name)
	if !exists || !c.options.Devices {
		return
	}
	for _, reference := range pod.Spec.ResourceClaims {
		if reference.ResourceClaimTemplateName != nil && !slices.ContainsFunc(pod.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == reference.Name }) {
			c.fail("pod %s was bound without its claim %s", name, reference.Name)
		}
	}
	for _, claimName := range claimsOf(pod) {
		claim := c.claim(claimName)
		switch {
		case claim == nil || claim.Status.Allocation == nil:
			if fresh {
				c.fail("pod %s was bound, but its claim %s has no devices", name, claimName)
			}
		case !slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID }):
			if fresh {
				c.fail("pod %s was bound, but its claim %s is not reserved for it", name, claimName)
			}
		case !before[claimName]:
			c.checkAllocation(pod, claim, fresh)
		}
	}
}

// checkAllocation fails if a claim allocated by the plugin has wrong devices.
func (c *fuzzCluster) checkAllocation(pod *corev1.Pod, claim *resourcev1.ResourceClaim, fresh bool) {
	for _, result := range claim.Status.Allocation.Devices.Results {
		slice, device := c.publisher(result.Pool, result.Device)
		if device == nil {
			if fresh {
				c.fail("claim %s has device %s/%s, which does not exist", claim.Name, result.Pool, result.Device)
			}
			continue
		}
		if !ptr.Deref(result.AdminAccess, false) {
			c.checkUsers(claim, result, device)
		}
		model := fuzzModels[classOfRequest(claim, result.Request)]
		reachable := ptr.Deref(slice.Spec.AllNodes, false) || ptr.Deref(slice.Spec.NodeName, "") == pod.Spec.NodeName
		if fresh && (!reachable || model != "" && *device.Attributes["model"].StringValue != model) {
			c.fail("claim %s of pod %s on %s has device %s/%s, which is another model or out of reach", claim.Name, pod.Name, pod.Spec.NodeName, result.Pool, result.Device)
		}
	}
}

// checkUsers fails if other claims have the same device, or if claims use more of its capacity than it has. It also fails
// if devices that share a counter use more than there is.
func (c *fuzzCluster) checkUsers(claim *resourcev1.ResourceClaim, mine resourcev1.DeviceRequestAllocationResult, device *resourcev1.Device) {
	shared, users, consumed, partitions := ptr.Deref(device.AllowMultipleAllocations, false), 0, 0.0, map[string]bool{}
	for _, other := range append(c.claims(), c.lost...) {
		if other.Status.Allocation == nil || slices.Contains(c.lost, other) && !slices.ContainsFunc(c.pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" && uses(pod, other) }) {
			continue
		}
		for _, result := range other.Status.Allocation.Devices.Results {
			if result.Pool != mine.Pool || ptr.Deref(result.AdminAccess, false) {
				continue
			}
			if len(device.ConsumesCounters) > 0 {
				partitions[result.Device] = true
			}
			if result.Device == mine.Device {
				users++
				amount := result.ConsumedCapacity["memory"]
				consumed += amount.AsApproximateFloat64()
			}
		}
	}
	memory := device.Capacity["memory"].Value
	if !shared && users > 1 || shared && consumed > memory.AsApproximateFloat64() || len(partitions) > 2 {
		c.fail("claim %s was given device %s/%s, which has %d users with %v of memory; %d partitions are in use", claim.Name, mine.Pool, mine.Device, users, consumed, len(partitions))
	}
}

// claims returns all claims of the API server, sorted by name.
func (c *fuzzCluster) claims() []*resourcev1.ResourceClaim {
	list, err := c.kube.ResourceV1().ResourceClaims("ns").List(context.Background(), metav1.ListOptions{})
	c.try(err)
	var all []*resourcev1.ResourceClaim
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	slices.SortFunc(all, func(a, b *resourcev1.ResourceClaim) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (c *fuzzCluster) claim(name string) *resourcev1.ResourceClaim {
	claim, err := c.kube.ResourceV1().ResourceClaims("ns").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return claim
}

// writeClaim changes a claim as a controller or a driver does.
func (c *fuzzCluster) writeClaim(claim *resourcev1.ResourceClaim) {
	_, err := c.kube.ResourceV1().ResourceClaims(claim.Namespace).UpdateStatus(context.Background(), claim, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) { // the plugin deallocates in the background
		c.fail("write claim %s: %v", claim.Name, err)
	}
}

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
		} else if _, device := c.publisher(result.Pool, result.Device); device != nil {
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
