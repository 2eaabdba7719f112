// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
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

// device returns a device of the driver, nil if no slice has it.
func (c *fuzzCluster) device(pool, name string) *resourcev1.Device {
	_, device := c.publisher(pool, name)
	return device
}

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
