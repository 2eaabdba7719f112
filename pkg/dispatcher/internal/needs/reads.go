// SPDX-License-Identifier: Apache-2.0

package needs

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/dra"
)

// claimsRead has the claims and claim templates that were read to count a workload, so that a later round can tell
// whether they are still the same objects. An object that did not exist is nil.
type claimsRead struct {
	claims    []read[resourceapi.ResourceClaim]
	templates []read[resourceapi.ResourceClaimTemplate]
}

type read[T any] struct {
	namespace, name string
	object          *T
}

// current reports whether nothing has changed.
func (r *claimsRead) current(reader dra.ClaimReader) bool {
	for _, claim := range r.claims {
		if object, _ := reader.Claim(claim.namespace, claim.name); object != claim.object {
			return false
		}
	}
	for _, template := range r.templates {
		if object, _ := reader.ClaimTemplate(template.namespace, template.name); object != template.object {
			return false
		}
	}
	return true
}

// Claim implements dra.ClaimReader.
func (w *counting) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	object, err := w.reader.Claim(namespace, name)
	w.read.claims = append(w.read.claims, read[resourceapi.ResourceClaim]{namespace, name, object})
	return object, err
}

// ClaimTemplate implements dra.ClaimReader.
func (w *counting) ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	object, err := w.reader.ClaimTemplate(namespace, name)
	w.read.templates = append(w.read.templates, read[resourceapi.ResourceClaimTemplate]{namespace, name, object})
	return object, err
}

// ExtendedClaim implements dra.ClaimReader. Templates of workloads have no such claim, so that there is nothing to read again.
func (w *counting) ExtendedClaim(pod *corev1.Pod) *resourceapi.ResourceClaim {
	return w.reader.ExtendedClaim(pod)
}
