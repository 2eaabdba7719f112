// SPDX-License-Identifier: Apache-2.0

package describe

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// Object names an object. The kind is a parameter, because objects of informers lack it.
func Object(kind string, meta *metav1.ObjectMeta) v1alpha1.Object {
	return v1alpha1.Object{Kind: kind, Namespace: meta.Namespace, Name: meta.Name, UID: string(meta.UID)}
}

// Owner names the controller of an object, nil if it has none.
func Owner(object metav1.Object) *v1alpha1.Object {
	owner := metav1.GetControllerOf(object)
	if owner == nil {
		return nil
	}
	return &v1alpha1.Object{Kind: owner.Kind, Namespace: object.GetNamespace(), Name: owner.Name, UID: string(owner.UID)}
}
