// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 has the Queue type of scheduling.volcano.sh/v1beta1 with quotas for devices of Dynamic
// Resource Allocation (DRA). The type is upstream's Queue plus spec.dra. In the API server both types are
// the same resource.
//
// +k8s:deepcopy-gen=package
// +groupName=scheduling.volcano.sh
// +kubebuilder:object:generate=true
package v1beta1
