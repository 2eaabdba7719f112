// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Explanation says why a pod or a workload waits, or where it runs.
type Explanation struct {
	metav1.TypeMeta `json:",inline"`
	Snapshot        Snapshot `json:"snapshot"`
	// Subject is what was asked about.
	Subject Object `json:"subject"`
	Queue   string `json:"queue,omitempty"`
	State   State  `json:"state"`
	// Node is where the pod runs, or is promised to run.
	Node string `json:"node,omitempty"`
	// Cause is why the subject waits: the first check that fails. It is nil if it does not wait.
	Cause *Refusal `json:"cause,omitempty"`
	// Checks are made in this order. Those after the first one that fails are not made.
	Checks []Check `json:"checks,omitempty"`
	// Asked is what the subject asks for. Charged is what it holds.
	Asked   []Amount `json:"asked,omitempty"`
	Charged []Amount `json:"charged,omitempty"`
	// Devices are those of its claims.
	Devices []DeviceID `json:"devices,omitempty"`
	// Standings has, from the queue of the subject to the root, how each queue stands in the dimensions that are asked for.
	Standings []Standing `json:"standings,omitempty"`
	// Nodes says what nodes have and why they are not suitable. Nodes with the same answer are one entry.
	Nodes []NodesAnswer `json:"nodes,omitempty"`
	// Supplies says where the devices and cards are that the subject asks for.
	Supplies []Supply `json:"supplies,omitempty"`
	// Holders are those that hold what is missing, and what they hold of it. Those whose queues hold more than they deserve come first. MoreHolders
	// is how many others there are.
	Holders     []Holder `json:"holders,omitempty"`
	MoreHolders int32    `json:"moreHolders,omitempty"`
	// Eviction says whether others would be evicted for the subject, and why not. It is nil if that is no question.
	Eviction *Eviction `json:"eviction,omitempty"`
	// LastEviction is the last eviction of a pod of the workload, nil if there was none since this scheduler leads.
	LastEviction *LastEviction `json:"lastEviction,omitempty"`
	// Pods has the explanations of the pods of a workload that wait. Pods with the same answer are one entry, and Count is
	// how many there are.
	Pods []PodsAnswer `json:"pods,omitempty"`
}

// State is what the scheduler says of a pod or a workload.
type State string

const (
	// Waiting is the state of a pod that has no node, and of a workload that is not let in or lacks pods of its minimum.
	Waiting State = "Waiting"
	// Promised is the state of a pod that waits for others to leave its node.
	Promised State = "Promised"
	// Running is the state of a pod that has a node, and of a workload that has the pods of its minimum.
	Running State = "Running"
	// Releasing is the state of a pod that is leaving.
	Releasing State = "Releasing"
	// Ended is the state of a pod or workload that holds nothing any more.
	Ended State = "Ended"
	// Gated is the state of a pod whose scheduling gates keep it from being scheduled.
	Gated State = "Gated"
	// NotScheduled is the state of a pod of another scheduler.
	NotScheduled State = "NotScheduled"
)

// Check is one condition that must hold so that a pod is placed or a workload is let in.
type Check struct {
	// Name is stable, for programs.
	Name string `json:"name"`
	// Result says how the check went.
	Result Result `json:"result"`
	// Message is a sentence with numbers.
	Message string `json:"message,omitempty"`
}

// Result is how a check went.
type Result string

const (
	// Passed means that the condition holds.
	Passed Result = "Passed"
	// Failed means that the condition does not hold.
	Failed Result = "Failed"
	// NotReached means that an earlier check has failed.
	NotReached Result = "NotReached"
)

// Standing is how a queue stands.
type Standing struct {
	Queue   string  `json:"queue"`
	Figures Figures `json:"figures"`
}

// NodesAnswer is why some nodes are not suitable, or that they are.
type NodesAnswer struct {
	// Nodes has some of the names, Count is how many there are.
	Nodes []string `json:"nodes"`
	Count int32    `json:"count"`
	// Suitable says that the nodes could take the pod.
	Suitable bool `json:"suitable,omitempty"`
	// Message is why they cannot.
	Message string `json:"message,omitempty"`
	// Free is the most that one of the nodes has free of each resource that the pod requests.
	Free []Amount `json:"free,omitempty"`
}

// Supply says where the devices of a DeviceClass, or cards of a model, are.
type Supply struct {
	Dimension `json:",inline"`
	// Asked is how many a pod asks for. It is zero if the pods do not exist yet.
	Asked int64 `json:"asked,omitempty"`
	// Free are available, of Total in the cluster.
	Free  int64 `json:"free"`
	Total int64 `json:"total"`
	// Nodes is how many nodes have some of their own, and NodesWithEnough on how many of them as many are free as a pod asks for.
	Nodes           int32 `json:"nodes,omitempty"`
	NodesWithEnough int32 `json:"nodesWithEnough,omitempty"`
	// Places has those with most that are free, MorePlaces is how many others there are.
	Places     []Place `json:"places,omitempty"`
	MorePlaces int32   `json:"morePlaces,omitempty"`
}

// Place is a node, or a pool that several nodes may reach.
type Place struct {
	Node string `json:"node,omitempty"`
	// Pool is driver/pool.
	Pool  string `json:"pool,omitempty"`
	Free  int64  `json:"free"`
	Total int64  `json:"total"`
	// Shared are in use, and may be allocated to others, too. Tainted would be free, but for a taint that pods must tolerate.
	Shared  int64 `json:"shared,omitempty"`
	Tainted int64 `json:"tainted,omitempty"`
}

// Eviction says what would have to go.
type Eviction struct {
	// Possible says that the victims are enough, and that the rules allow to evict them.
	Possible bool `json:"possible"`
	// Rule is reclaim or preempt. It is empty if neither is configured for the subject.
	Rule string `json:"rule,omitempty"`
	// Message is why others are evicted, or why not.
	Message string `json:"message"`
	// Victims are those that would have to go.
	Victims []Holder `json:"victims,omitempty"`
}

// LastEviction says when a pod of a workload was evicted, and why.
type LastEviction struct {
	Time metav1.Time `json:"time"`
	// Pod is the name of the pod.
	Pod string `json:"pod"`
	// Message is that of the event on the pod, which is there for an hour only.
	Message string `json:"message"`
}

// PodsAnswer is why some pods of a workload wait.
type PodsAnswer struct {
	// Example is one of the pods.
	Example Object  `json:"example"`
	Count   int32   `json:"count"`
	State   State   `json:"state"`
	Cause   Refusal `json:"cause"`
	Checks  []Check `json:"checks,omitempty"`
}
