// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Snapshot says which session of the scheduler an answer is about.
type Snapshot struct {
	// Time is when the session ended.
	Time metav1.MicroTime `json:"time"`
	// Session is the ID of the session, as it is in the scheduler's log.
	Session string `json:"session"`
	// Scheduler is the host of the process that leads, which is the name of its pod.
	Scheduler string `json:"scheduler,omitempty"`
	// Version is that of the scheduler, such as v0.1.0.
	Version string `json:"version,omitempty"`
	// Incomplete says what the scheduler has not read yet, so that some figures may be too low. It is empty if all is known.
	Incomplete string `json:"incomplete,omitempty"`
}

// QueueList has all queues, parents before their children, and siblings by name.
type QueueList struct {
	metav1.TypeMeta `json:",inline"`
	Snapshot        Snapshot `json:"snapshot"`
	// Cluster has what the cluster has of each DeviceClass, card, and counted resource.
	Cluster []Total `json:"cluster,omitempty"`
	Items   []Queue `json:"items"`
}

// Total says what the cluster has of one dimension.
type Total struct {
	Dimension `json:",inline"`
	// Total is what there is, in use or not.
	Total resource.Quantity `json:"total"`
	// Used is what pods have, and what others take away from it: a partition of a device that is in use is used, too.
	Used resource.Quantity `json:"used"`
	// Free can be given to pods now. What is neither used nor free is on nodes that are closed for new pods, or has a taint.
	Free resource.Quantity `json:"free"`
	// LargestFree is the most that is free on one node.
	LargestFree resource.Quantity `json:"largestFree"`
}

// Queue says how a queue stands.
type Queue struct {
	Name string `json:"name"`
	// Parent is empty for a queue at the top.
	Parent string `json:"parent,omitempty"`
	// State is Volcano's state of the queue: Open, Closed, Closing, or Unknown.
	State string `json:"state,omitempty"`
	// Figures has each dimension that the queue limits, deserves, uses, or waits for.
	Figures []Figures `json:"figures,omitempty"`
	// Problems has what is wrong with the queue, as in its events.
	Problems []Problem `json:"problems,omitempty"`
	// Jobs is how many PodGroups there are in the queue itself, by phase.
	Jobs map[string]int32 `json:"jobs,omitempty"`
	// WaitingPods and RunningPods are those in the queue itself. A pod that is promised a node waits.
	WaitingPods int32 `json:"waitingPods,omitempty"`
	RunningPods int32 `json:"runningPods,omitempty"`
}

// Figures are what a queue has of one dimension. All include the queues below it.
type Figures struct {
	Dimension `json:",inline"`
	// Allocated is what pods hold, those included that are leaving.
	Allocated resource.Quantity `json:"allocated"`
	// Releasing is the part of Allocated that pods hold which are leaving.
	Releasing resource.Quantity `json:"releasing"`
	// Promised is what pods are promised that wait for others to leave.
	Promised resource.Quantity `json:"promised"`
	// Inqueue is what jobs that have been let in still need before they can run.
	Inqueue resource.Quantity `json:"inqueue"`
	// Elastic is the part of Allocated that jobs hold in addition to what they need to run.
	Elastic resource.Quantity `json:"elastic"`
	// Request is what pods and jobs hold or wait for, without what they may choose.
	Request resource.Quantity `json:"request"`
	// Either is what pods and jobs wait for and may choose instead of something else. Each of them counts with all that it accepts.
	Either resource.Quantity `json:"either"`

	// Capability is what the administrator allows the queue. It is nil if there is no limit of its own.
	Capability *resource.Quantity `json:"capability,omitempty"`
	// Deserved is up to where the queue may take back what others have borrowed. It is nil if that is not set.
	Deserved *resource.Quantity `json:"deserved,omitempty"`
	// Guarantee is what is kept free for the queue. It is nil if that is nothing.
	Guarantee *resource.Quantity `json:"guarantee,omitempty"`
	// Limit is what the queue may have in the end: the least of its own capability and of those above it, without what is
	// guaranteed to others. It is nil if nothing limits the queue.
	Limit *resource.Quantity `json:"limit,omitempty"`
	// LimitedBy is the queue that Limit comes from. It is empty if Limit is nil, or if it is what the cluster has.
	LimitedBy string `json:"limitedBy,omitempty"`
}

// Problem is what is wrong with a queue.
type Problem struct {
	// Reason is the reason of the event on the queue.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Harmless says that it is only a remark.
	Harmless bool `json:"harmless,omitempty"`
}
