// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// isDependency reports whether a binding only follows other bindings. Karmada's scheduler ignores it.
func isDependency(rb *workv1alpha2.ResourceBinding) bool {
	return len(rb.Spec.RequiredBy) > 0 && rb.Spec.Placement == nil
}

// isKnown reports whether the object of a binding has one of workload.Kinds.
func isKnown(rb *workv1alpha2.ResourceBinding) bool {
	object := &rb.Spec.Resource
	return slices.Contains(workload.Kinds, schema.FromAPIVersionAndKind(object.APIVersion, object.Kind))
}

// nameOf returns the name of a binding for people.
func nameOf(rb *workv1alpha2.ResourceBinding) string {
	return fmt.Sprintf("ResourceBinding %s/%s", rb.Namespace, rb.Name)
}

// objectOf returns the name of a binding's object for people.
func objectOf(rb *workv1alpha2.ResourceBinding) string {
	object := &rb.Spec.Resource
	return fmt.Sprintf("%s %s/%s", object.Kind, object.Namespace, object.Name)
}
