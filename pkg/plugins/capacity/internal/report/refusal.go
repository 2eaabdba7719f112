// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/devicequota/devicequota/pkg/refusals"

// Refusal says why a pod or job waits.
type Refusal interface {
	// Reason returns the reason of the event. It is empty if no event is needed because the condition of the pod is enough.
	Reason() string
	// Message returns the sentence in the event and in the condition.
	Message() string
}

// NodeRefusal says why a node is not suitable for a pod.
type NodeRefusal struct {
	Message string
	// Unresolvable says that no eviction on the node makes it suitable.
	Unresolvable bool
}

// Reasons of events on what waits.
const (
	// DeviceAllocatedTwiceReason says that a claim of the pod has a device that another claim has, too.
	DeviceAllocatedTwiceReason = "DeviceAllocatedTwice"
	// DevicesNotReadyReason says that a device of the pod failed before the pod was bound, or did not get ready in time.
	DevicesNotReadyReason = "DevicesNotReady"
	// InsufficientDevicesReason says that the quota allows the devices, but no node has them free.
	InsufficientDevicesReason = "InsufficientDevices"
	// BindingConditionsPendingReason says that the pod has a node, and waits for its devices to get ready. Kube-scheduler has the same.
	BindingConditionsPendingReason = "BindingConditionsPending"

	// TaskRequestFailedReason is that of package refusals.
	TaskRequestFailedReason = refusals.TaskRequestFailedReason
)
