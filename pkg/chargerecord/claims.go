// SPDX-License-Identifier: Apache-2.0

package chargerecord

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations that the scheduler writes to pods and claims, and that users must not write.
const (
	// ClaimsAnnotation, on a pod that has a node, is a JSON list of the ResourceClaims that the pod uses: of each its name, its UID, the
	// queue that is charged, what it requests of which class, and its devices. It outlives claims that users delete.
	ClaimsAnnotation = "volcano.sh/charged-claims"
)

// SetClaims sets the ClaimsAnnotation of a pod before its binding. The pod must have a record of its queue, and must not be shared
// yet. Each claim must have an allocation.
func SetClaims(pod *corev1.Pod, claims []*resourceapi.ResourceClaim) {
	if len(claims) == 0 {
		return
	}
	var kept []*resourceapi.ResourceClaim
	for _, claim := range claims {
		kept = append(kept, essence(claim))
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return // objects from the API server can always be marshaled
	}
	pod.Annotations[ClaimsAnnotation] = string(text)
}

// essence returns the parts of a claim that are needed to count its devices and to keep them taken.
func essence(claim *resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	kept := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: claim.Name, UID: claim.UID, Annotations: map[string]string{}}}
	for _, key := range []string{QueueAnnotation, resourceapi.ExtendedResourceClaimAnnotation} {
		if text, found := claim.Annotations[key]; found {
			kept.Annotations[key] = text
		}
	}
	results := slices.Clone(claim.Status.Allocation.Devices.Results)
	for i := range results {
		results[i].Tolerations = nil
	}
	for i := range claim.Spec.Devices.Requests {
		if request := chosen(&claim.Spec.Devices.Requests[i], results); request != nil {
			kept.Spec.Devices.Requests = append(kept.Spec.Devices.Requests, *request)
		}
	}
	kept.Status.Allocation = &resourceapi.AllocationResult{
		AllocationTimestamp: claim.Status.Allocation.AllocationTimestamp,
		Devices:             resourceapi.DeviceAllocationResult{Results: results},
	}
	return kept
}

// chosen returns the part of a request for which a claim has devices, or nil if it has none for the request. It has what tells a claim for extended
// resources from one that a user made. Users choose how long the rest is.
func chosen(request *resourceapi.DeviceRequest, results []resourceapi.DeviceRequestAllocationResult) *resourceapi.DeviceRequest {
	has := func(name string) bool {
		return slices.ContainsFunc(results, func(result resourceapi.DeviceRequestAllocationResult) bool { return result.Request == name })
	}
	kept := &resourceapi.DeviceRequest{Name: request.Name}
	if request.Exactly != nil && has(request.Name) {
		kept.Exactly = &resourceapi.ExactDeviceRequest{
			DeviceClassName: request.Exactly.DeviceClassName, AllocationMode: request.Exactly.AllocationMode, Count: request.Exactly.Count,
		}
		return kept
	}
	for _, alternative := range request.FirstAvailable {
		if has(request.Name + "/" + alternative.Name) {
			kept.FirstAvailable = []resourceapi.DeviceSubRequest{{Name: alternative.Name, DeviceClassName: alternative.DeviceClassName}}
			return kept
		}
	}
	return nil
}

// ClaimsOf returns the claims in the record of a pod, reserved for the pod. It is nil if the pod has no such record.
func ClaimsOf(pod *corev1.Pod) []*resourceapi.ResourceClaim {
	text := pod.Annotations[ClaimsAnnotation]
	if text == "" || pod.Annotations[QueueAnnotation] == "" {
		return nil
	}
	var claims []*resourceapi.ResourceClaim
	if err := json.Unmarshal([]byte(text), &claims); err != nil {
		return nil // not written by the scheduler
	}
	kept := claims[:0]
	for _, claim := range claims {
		if claim == nil || claim.UID == "" || claim.Status.Allocation == nil {
			continue
		}
		claim.Namespace = pod.Namespace
		claim.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
		kept = append(kept, claim)
	}
	return kept
}

// Lists reports whether the record of a pod contains a claim.
func Lists(pod *corev1.Pod, claim *resourceapi.ResourceClaim) bool {
	return slices.ContainsFunc(ClaimsOf(pod), func(used *resourceapi.ResourceClaim) bool { return used.UID == claim.UID })
}

// ExtendedClaimOf returns the name of the claim for extended resources in the record of a pod. It is empty if there is none.
func ExtendedClaimOf(pod *corev1.Pod) string {
	if !strings.Contains(pod.Annotations[ClaimsAnnotation], resourceapi.ExtendedResourceClaimAnnotation) {
		return "" // only for speed
	}
	for _, claim := range ClaimsOf(pod) {
		if claim.Annotations[resourceapi.ExtendedResourceClaimAnnotation] == "true" {
			return claim.Name
		}
	}
	return ""
}
