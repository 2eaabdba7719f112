// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/devicequota/devicequota/pkg/refusals"

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

// Reasons of the events on pods and PodGroups that wait, besides those of package refusals.
const (
	DeviceAllocatedTwiceReason = "DeviceAllocatedTwice"
	DevicesNotReadyReason      = "DevicesNotReady"
	InsufficientDevicesReason  = "InsufficientDevices"
	TaskRequestFailedReason    = refusals.TaskRequestFailedReason
)

// BindingConditionsPendingReason is the reason of the event on a pod that waits for its devices before it is bound. Kube-scheduler
// has the same.
const BindingConditionsPendingReason = "BindingConditionsPending"
