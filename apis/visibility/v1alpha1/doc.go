// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has the types of visibility.devicequota.io/v1alpha1, in which the scheduler tells what its ledger
// says: queues and how much of each quota is used, workloads and why they wait, and who holds what. The scheduler
// serves them read-only. They are never stored.
//
// All that one answer says was true at the end of one session of the scheduler, which its metadata names.
//
// +k8s:deepcopy-gen=package
// +groupName=visibility.devicequota.io
package v1alpha1
