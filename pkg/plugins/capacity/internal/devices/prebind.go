// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/demand"
)

// ClaimsToBind returns the claims of a pod that is about to be bound, each with its allocation.
func (s *Session) ClaimsToBind(pod *demand.Pod) ([]*resourceapi.ResourceClaim, error) {
	if pod.Err != nil {
		return nil, pod.Err
	}
	var claims []*resourceapi.ResourceClaim
	for _, claim := range pod.Claims {
		object := s.latest(claim.Object)
		if object.Status.Allocation == nil {
			return nil, fmt.Errorf("no devices are reserved for ResourceClaim %s", nameOf(object))
		}
		claims = append(claims, object)
	}
	return claims, nil
}

// PreBind writes the allocations of claims, the charged queue, and the reservation for the pod. Then it waits until the devices are
// ready. It returns the claims as the API server has them. It may be called concurrently, and during other sessions.
func (c *Cache) PreBind(ctx context.Context, pod *corev1.Pod, claims []*resourceapi.ResourceClaim, queue string, wait ConditionWait) ([]*resourceapi.ResourceClaim, error) {
	reserved, err := c.writer.Reserve(ctx, pod, claims, queue)
	if err != nil {
		return nil, err
	}
	return reserved, c.waitForConditions(ctx, pod, reserved, wait)
}

// UndoPreBind takes back the writes of PreBind for a pod that is not bound after all.
func (c *Cache) UndoPreBind(ctx context.Context, pod *corev1.Pod, claims []*resourceapi.ResourceClaim) {
	c.writer.Release(ctx, pod, claims)
}
