// SPDX-License-Identifier: Apache-2.0

// Package refusals has the words in which a queue refuses: reasons of events, and sentences. The scheduler and the
// dispatcher say the same about the same.
package refusals

// Reasons of events on what waits.
const (
	InsufficientCPUQuotaReason    = "InsufficientCPUQuota"
	InsufficientMemoryQuotaReason = "InsufficientMemoryQuota"
	InsufficientScalarQuotaReason = "InsufficientScalarQuota"
	EmptyQueueCapabilityReason    = "EmptyQueueCapability"
	UnschedulableReason           = "Unschedulable"
	QueueNotFoundReason           = "QueueNotFound"
	TaskRequestFailedReason       = "GetTaskRequestResourceFailed"
)
