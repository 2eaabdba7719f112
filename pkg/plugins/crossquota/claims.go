// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/chargerecord"
	"github.com/devicequota/devicequota/pkg/dra"
)

// classesOf returns, for each request of a pod's claims, the possible DeviceClasses of the devices, or the class of the allocated devices. If a
// claim does not exist yet, classesOf uses its template.
func (d *devices) classesOf(pod *corev1.Pod) [][]string {
	var recorded []*resourceapi.ResourceClaim
	if dra.Bound(pod) { // its user may have written one before
		recorded = chargerecord.ClaimsOf(pod)
	}
	var requests [][]string
	for i := range pod.Spec.ResourceClaims {
		reference := &pod.Spec.ResourceClaims[i]
		if name, _, err := resourceclaim.Name(pod, reference); err == nil && name != nil {
			if claim := d.claimOf(pod, *name, recorded); claim != nil {
				requests = append(requests, classesIn(&claim.Spec, claim.Status.Allocation)...)
				continue
			}
		}
		template := ptr.Deref(reference.ResourceClaimTemplateName, "")
		if template == "" {
			continue
		}
		if found, err := d.templates.ResourceClaimTemplates(pod.Namespace).Get(template); err == nil {
			requests = append(requests, classesIn(&found.Spec.Spec, nil)...)
		}
	}
	return requests
}

// claimOf returns a claim of a pod from the pod's record or, without one, by its name. It returns nil if there is none. Users can delete a claim, and
// create another one with the same name.
func (d *devices) claimOf(pod *corev1.Pod, name string, recorded []*resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	if i := slices.IndexFunc(recorded, func(claim *resourceapi.ResourceClaim) bool { return claim.Name == name }); i >= 0 {
		return recorded[i]
	}
	claim, err := d.claims.ResourceClaims(pod.Namespace).Get(name)
	if err != nil {
		return nil
	}
	return claim
}

// classesIn returns the classes of each request: its own, or those of its alternatives. For an allocated claim, it returns only the class of the
// alternative that was chosen.
func classesIn(spec *resourceapi.ResourceClaimSpec, has *resourceapi.AllocationResult) [][]string {
	var requests [][]string
	for _, request := range spec.Devices.Requests {
		var classes []string
		if request.Exactly != nil {
			classes = append(classes, request.Exactly.DeviceClassName)
		}
		for _, alternative := range request.FirstAvailable {
			if has == nil || slices.ContainsFunc(has.Devices.Results, func(result resourceapi.DeviceRequestAllocationResult) bool {
				return result.Request == request.Name+"/"+alternative.Name
			}) {
				classes = append(classes, alternative.DeviceClassName)
			}
		}
		requests = append(requests, classes)
	}
	return requests
}
