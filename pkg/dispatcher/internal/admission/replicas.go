// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// refuseMoreReplicas refuses to give the clusters of a granted binding more replicas than it has. Karmada's scheduler answers so if the replicas have become
// fewer, or are divided, since it read the binding, and the grant may have been lowered meanwhile.
func refuseMoreReplicas(old, rb *workv1alpha2.ResourceBinding) *ctrladmission.Response {
	if rb.Spec.Replicas <= 0 {
		return nil // clusters get those of the object
	}
	had := map[string]int32{}
	for _, c := range old.Spec.Clusters {
		had[c.Name] = c.Replicas
	}
	more := binding.Divides(rb) && assigned(rb) > max(int64(rb.Spec.Replicas), assigned(old))
	for _, c := range rb.Spec.Clusters {
		more = more || c.Replicas > max(rb.Spec.Replicas, had[c.Name])
	}
	if !more {
		return nil
	}
	response := ctrladmission.Denied(fmt.Sprintf("%s: spec.clusters cannot get so many replicas, because %s has %d by now: choose anew", nameOf(rb), objectOf(rb), rb.Spec.Replicas))
	return &response
}

// assigned returns how many replicas the clusters of a binding have.
func assigned(rb *workv1alpha2.ResourceBinding) (replicas int64) {
	for _, c := range rb.Spec.Clusters {
		replicas += int64(c.Replicas)
	}
	return replicas
}
