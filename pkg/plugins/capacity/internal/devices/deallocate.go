// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/demand"
)

// Deallocate takes devices away from claims that no pod uses and that keep this pod from running. The pod was not
// bound, and no node suits it now. Call it for each of these pods when a session closes. Kube-scheduler does this in
// PostFilter, an extension point that Volcano lacks.
func (s *Session) Deallocate(state *State) {
	for i := range state.allocated {
		if claim := &state.allocated[i]; s.unusable(state, claim) {
			s.deallocate(state.pod.Object, claim.ResourceClaim)
		}
	}
}

// DeallocateOwn is Deallocate for a pod of a job that waits, whether or not a node was asked about it. Only claims that were made for the pod lose their devices.
func (s *Session) DeallocateOwn(pod *demand.Pod) {
	for _, claim := range pod.Claims {
		if object := claim.Object; object.Status.Allocation != nil && resourceclaim.IsForPod(pod.Object, object) == nil && s.usedAlone(pod, object) {
			s.deallocate(pod.Object, object)
		}
	}
}

// deallocate deallocates a claim in the background. Per claim, only one deallocation runs at a time. Beyond the limit
// of the cache, it leaves the claim to the next session.
func (c *Cache) deallocate(pod *corev1.Pod, claim *resourceapi.ResourceClaim) {
	if _, already := c.deallocating.LoadOrStore(claim.UID, true); already || c.ctx.Err() != nil {
		return
	}
	started := c.background.TryGo(func() error {
		defer c.deallocating.Delete(claim.UID)
		c.writer.Deallocate(c.ctx, pod, claim)
		return nil
	})
	if !started {
		c.deallocating.Delete(claim.UID)
	}
}

// unusable reports whether the devices of a claim keep the pod from running while no other pod uses them. The claim was
// made for the pod, or some node cannot use the devices.
func (s *Session) unusable(state *State, claim *allocatedClaim) bool {
	return s.usedAlone(state.pod, claim.ResourceClaim) &&
		(resourceclaim.IsForPod(state.pod.Object, claim.ResourceClaim) == nil || state.unavailable[claim.UID] || !s.reachable(claim))
}

// usedAlone reports whether nobody but a pod uses an allocated claim, or is about to.
func (s *Session) usedAlone(pod *demand.Pod, claim *resourceapi.ResourceClaim) bool {
	other := func(consumer resourceapi.ResourceClaimConsumerReference) bool { return consumer.UID != pod.Object.UID }
	return s.pending.Of(claim.UID) == nil && !slices.ContainsFunc(claim.Status.ReservedFor, other)
}

// reachable reports whether some node can use the devices.
func (s *Session) reachable(claim *allocatedClaim) bool {
	if claim.nodes == nil {
		return true
	}
	nodes, err := s.Nodes.List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "Failed to list nodes")
		return true
	}
	for _, node := range nodes {
		if claim.nodes.Match(node) {
			return true
		}
	}
	return false
}
