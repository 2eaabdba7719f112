// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has the types of accounting.devicequota.io/v1alpha1: the record of how long queues held devices and cards. The
// scheduler that leads writes it. Nobody else should.
//
// +k8s:deepcopy-gen=package
// +groupName=accounting.devicequota.io
package v1alpha1
