// SPDX-License-Identifier: Apache-2.0

// Package refusals contains the event reasons and sentences with which a queue refuses pods and jobs. The scheduler and
// the dispatcher share them.
package refusals

// Reasons of events on what waits.
const (
	// InsufficientCPUQuotaReason says that a queue would hold more cpu than it can.
	InsufficientCPUQuotaReason = "InsufficientCPUQuota"
	// InsufficientMemoryQuotaReason says that a queue would hold more memory than it can.
	InsufficientMemoryQuotaReason = "InsufficientMemoryQuota"
	// InsufficientScalarQuotaReason says that a queue would hold more devices, cards, or other resources than it can.
	InsufficientScalarQuotaReason = "InsufficientScalarQuota"
	// EmptyQueueCapabilityReason says that a quota is required, and no queue up to the root has one.
	EmptyQueueCapabilityReason = "EmptyQueueCapability"
	// UnschedulableReason says that the queue takes no pods, or no node suits the pods.
	UnschedulableReason = "Unschedulable"
	// QueueNotFoundReason says that the queue does not exist.
	QueueNotFoundReason = "QueueNotFound"
	// TaskRequestFailedReason says that the scheduler cannot count or place the pod.
	TaskRequestFailedReason = "GetTaskRequestResourceFailed"
)
