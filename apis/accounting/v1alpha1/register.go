// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group and version of these types.
var SchemeGroupVersion = schema.GroupVersion{Group: "accounting.devicequota.io", Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &UsageRecord{}, &UsageRecordList{}, &UsageCheckpoint{}, &UsageCheckpointList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
})

// AddToScheme adds the types of this package to a scheme.
var AddToScheme = schemeBuilder.AddToScheme
