// SPDX-License-Identifier: Apache-2.0

package report

// Refusal says why a pod or a job waits.
type Refusal interface {
	// Reason is the reason of the event. It is empty for a refusal that needs no event, because the
	// condition of the pod is enough.
	Reason() string
	// Message is the sentence in the event and in the condition.
	Message() string
}

// NodeRefusal says why a node is not suitable for a pod.
type NodeRefusal struct {
	Message string
	// Unresolvable says that no eviction on the node makes it suitable.
	Unresolvable bool
}

// Reasons of the events on pods and PodGroups that wait.
const (
	InsufficientCPUQuotaReason    = "InsufficientCPUQuota"
	InsufficientMemoryQuotaReason = "InsufficientMemoryQuota"
	InsufficientScalarQuotaReason = "InsufficientScalarQuota"
	EmptyQueueCapabilityReason    = "EmptyQueueCapability"
	DeviceAllocatedTwiceReason    = "DeviceAllocatedTwice"
	InsufficientDevicesReason     = "InsufficientDevices"
	TaskRequestFailedReason       = "GetTaskRequestResourceFailed"
	UnschedulableReason           = "Unschedulable"
	QueueNotFoundReason           = "QueueNotFound"
)
