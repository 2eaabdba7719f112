// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/allocation"
	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
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

// idleAfter is how long a pod that waits keeps the devices of claims that were made for it. It gets them when it is bound, so it waits with some only after a crash,
// or because another scheduler allocated them. A claim that is reserved for no pod keeps its devices as long.
const idleAfter = 5 * time.Second

// idleClaims are claims that were made for pods which wait, or that are reserved for no pod, and have devices, when they were last looked at.
type idleClaims struct {
	at     time.Time
	claims map[types.UID]bool
}

// DeallocateIdle takes devices away from claims that were made for pods which wait, for whatever reason, and had devices the last time, too. Two jobs that have
// half of their devices each would wait for each other. Outside reports whether a pod waits although no job of the session has it: its claims would stay charged
// for as long as the pod exists.
//
// Claims that no pod uses lose their devices, too. Kubernetes' controller takes devices away together with the last reservation, but leaves them if the scheduler has removed
// that, because a pod was not bound. Call it when a session closes. It looks every few seconds.
func (s *Session) DeallocateIdle(waiting iter.Seq[*demand.Pod], outside func(*corev1.Pod) bool) {
	now := s.clock.Now()
	if now.Sub(s.idle.at) < idleAfter {
		return
	}
	last := s.idle.claims
	s.idle = idleClaims{now, map[types.UID]bool{}}
	add := func(pod *corev1.Pod, claim *resourceapi.ResourceClaim) {
		if s.idle.claims[claim.UID] = true; last[claim.UID] {
			s.deallocate(pod, claim)
		}
	}
	for pod := range waiting {
		for _, claim := range s.madeFor(pod) {
			add(pod.Object, claim)
		}
	}
	claims, err := s.Reader.Allocated()
	if err != nil {
		klog.ErrorS(err, "Failed to list claims")
	}
	for _, claim := range claims {
		if s.isUnused(claim) {
			add(nil, claim)
		} else if pod := s.ownerOf(claim); pod != nil && s.usedAlone(pod, claim) && outside(pod) {
			add(pod, claim)
		}
	}
}

// isUnused reports whether this scheduler allocated a claim that is reserved for no pod, and that no pod is about to use. Others may allocate claims in advance.
func (s *Session) isUnused(claim *resourceapi.ResourceClaim) bool {
	known := s.Claims.Known(claim.UID)
	switch {
	case known == nil, len(claim.Status.ReservedFor) > 0, chargerecord.Path(claim) == nil, dra.IsExtended(claim), s.pending.Of(claim.UID) != nil:
		return false
	case s.Held().Charged(known.Part) && s.Ledger.Frees(ledger.Holder(claim.UID), ledger.Demand{known.Part}) == nil: // a pod holds it
		return false
	}
	pods, err := s.Pods.Pods(claim.Namespace).List(labels.Everything())
	return err == nil && !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return awaits(pod, claim) })
}

// awaits reports whether a pod has a node and names a claim. Kubernetes' controller reserves the claim for it, but no scheduler allocates devices for it.
func awaits(pod *corev1.Pod, claim *resourceapi.ResourceClaim) bool {
	return dra.Bound(pod) && !allocation.Finished(pod) && slices.ContainsFunc(pod.Spec.ResourceClaims, func(named corev1.PodResourceClaim) bool {
		name, _, err := resourceclaim.Name(pod, &named)
		return err == nil && name != nil && *name == claim.Name
	})
}

// ownerOf returns the pod that a claim was made for, nil if there is none.
func (s *Session) ownerOf(claim *resourceapi.ResourceClaim) *corev1.Pod {
	owner := metav1.GetControllerOf(claim)
	if owner == nil || owner.Kind != "Pod" {
		return nil
	}
	pod, err := s.Pods.Pods(claim.Namespace).Get(owner.Name)
	if err != nil || resourceclaim.IsForPod(pod, claim) != nil {
		return nil
	}
	return pod
}

// madeFor returns the claims that were made for a pod, have devices, and are used by nobody else. It may return a claim twice.
func (s *Session) madeFor(pod *demand.Pod) (own []*resourceapi.ResourceClaim) {
	add := func(claim *resourceapi.ResourceClaim) {
		if claim.Status.Allocation != nil && resourceclaim.IsForPod(pod.Object, claim) == nil && s.usedAlone(pod.Object, claim) {
			own = append(own, claim)
		}
	}
	for _, claim := range pod.Claims {
		add(claim.Object)
	}
	if pod.RequestsExtended() {
		if extended := s.Reader.ExtendedClaim(pod.Object); extended != nil {
			add(extended) // the pod may have other ways to get its extended resources now
		}
	}
	return own
}

// deallocate deallocates a claim in the background. The pod is nil if the claim was made for none. Per claim, only one deallocation runs at a time. Beyond the limit
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
	return s.usedAlone(state.pod.Object, claim.ResourceClaim) &&
		(resourceclaim.IsForPod(state.pod.Object, claim.ResourceClaim) == nil || state.unavailable[claim.UID] || !s.reachable(claim))
}

// usedAlone reports whether nobody but a pod uses an allocated claim, or is about to.
func (s *Session) usedAlone(pod *corev1.Pod, claim *resourceapi.ResourceClaim) bool {
	other := func(consumer resourceapi.ResourceClaimConsumerReference) bool { return consumer.UID != pod.UID }
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
