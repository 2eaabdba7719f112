// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object names an object of Kubernetes.
type Object struct {
	// Kind is Pod, PodGroup, Job, or ResourceClaim.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	// Name is empty if the reader may not know it.
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// WorkloadList has the workloads that have not ended, the oldest first.
type WorkloadList struct {
	metav1.TypeMeta `json:",inline"`
	Snapshot        Snapshot   `json:"snapshot"`
	Items           []Workload `json:"items"`
}

// Workload is a PodGroup and its pods, or a Volcano Job or a pod without a PodGroup.
type Workload struct {
	Namespace string `json:"namespace"`
	// Name is the name of the PodGroup. It is empty if there is none: then Owner is what waits for one.
	Name string `json:"name"`
	// UID is that of the PodGroup, or of the owner if there is none.
	UID string `json:"uid"`
	// Owner is what created the PodGroup, such as a Job of Volcano. It is nil if there is none.
	Owner *Object `json:"owner,omitempty"`
	Queue string  `json:"queue"`
	// Phase is that of the PodGroup, or of the owner if there is none.
	Phase     string      `json:"phase"`
	Priority  int32       `json:"priority"`
	MinMember int32       `json:"minMember"`
	Created   metav1.Time `json:"created"`
	// Pods counts the pods, by what the scheduler says of them: Pending, Running, and so on.
	Pods map[string]int32 `json:"pods,omitempty"`
	// Charged is what the workload holds. What it shares with other workloads is counted for the one that pays.
	Charged []Amount `json:"charged,omitempty"`
	// Waits says why the workload, or some of its pods, wait. It is nil if nothing does, or if the scheduler has not tried yet.
	Waits *Refusal `json:"waits,omitempty"`
}

// Refusal says why something waits. It is what events and conditions say.
type Refusal struct {
	// Reason is the reason of the event. It is empty if there is none.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
	// Pods is how many pods wait for this reason. It is zero if the whole workload is not let in.
	Pods int32 `json:"pods,omitempty"`
	// Queue and what follows are set if a quota refuses: the queue that has no room, the dimension, what was asked for, what it
	// would come to, and what the queue may have.
	Queue     string     `json:"queue,omitempty"`
	Dimension *Dimension `json:"dimension,omitempty"`
	Requested string     `json:"requested,omitempty"`
	WouldBe   string     `json:"wouldBe,omitempty"`
	Limit     string     `json:"limit,omitempty"`
}
