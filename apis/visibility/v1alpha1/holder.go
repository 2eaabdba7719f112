// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HolderList has who holds what, those that have held it longest first.
type HolderList struct {
	metav1.TypeMeta `json:",inline"`
	Snapshot        Snapshot `json:"snapshot"`
	Items           []Holder `json:"items"`
}

// Holder is a pod, or a claim that no pod holds any more, and what it holds.
type Holder struct {
	// Object is the pod or the claim.
	Object `json:",inline"`
	// Workload is the name of the PodGroup of the pod. It is empty if the pod has none.
	Workload string `json:"workload,omitempty"`
	// Queue is the queue that is charged.
	Queue string `json:"queue"`
	// Borrows says that the queue holds more than it deserves, so that others may take it back. Only explanations say this.
	Borrows bool `json:"borrows,omitempty"`
	// Node is empty for a claim.
	Node string `json:"node,omitempty"`
	// State says how the holder holds it.
	State HolderState `json:"state"`
	// Since is when the pod got its node, or the claim its devices. It is nil if that is not known yet.
	Since *metav1.Time `json:"since,omitempty"`
	// Charged is what the queue is charged for this holder.
	Charged []Amount `json:"charged,omitempty"`
	// Shares is what the holder uses and another one is charged for: claims that several pods share.
	Shares []Amount `json:"shares,omitempty"`
	// Devices are those of its claims.
	Devices []DeviceID `json:"devices,omitempty"`
}

// HolderState says how something is held.
type HolderState string

const (
	// Holds is the state of a pod that has a node, and of a claim that has devices.
	Holds HolderState = "Holds"
	// IsReleasing is the state of a pod that is leaving and still has all that it held.
	IsReleasing HolderState = "Releasing"
	// IsPromised is the state of a pod that waits for others to leave its node.
	IsPromised HolderState = "Promised"
)

// DeviceID is a device that a claim has.
type DeviceID struct {
	// Claim is the name of the ResourceClaim, in the namespace of the holder.
	Claim  string `json:"claim"`
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
}
