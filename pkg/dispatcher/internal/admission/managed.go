// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// isDependency reports whether a binding only follows others. Karmada's scheduler ignores it.
func isDependency(rb *workv1alpha2.ResourceBinding) bool {
	return len(rb.Spec.RequiredBy) > 0 && rb.Spec.Placement == nil
}

// isKnown reports whether a binding is for an object of a kind that makes pods, as far as the dispatcher knows.
func isKnown(rb *workv1alpha2.ResourceBinding) bool {
	object := &rb.Spec.Resource
	return slices.Contains(workload.Kinds, schema.FromAPIVersionAndKind(object.APIVersion, object.Kind))
}

// nameOf names a binding for people.
func nameOf(rb *workv1alpha2.ResourceBinding) string {
	return fmt.Sprintf("ResourceBinding %s/%s", rb.Namespace, rb.Name)
}

// objectOf names the object of a binding for people.
func objectOf(rb *workv1alpha2.ResourceBinding) string {
	object := &rb.Spec.Resource
	return fmt.Sprintf("%s %s/%s", object.Kind, object.Namespace, object.Name)
}
