// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Snapshot is what a session decides on. Nothing in it may be changed.
type Snapshot struct {
	// Now is the time of the session.
	Now time.Time
	// Queues has all queues by name. Plugins must tolerate any mistake in them.
	Queues map[string]*schedulingv1beta1.Queue
	// Limits has what each queue limits.
	Limits map[string]QueueLimits
	// Workloads has all workloads that belong to queues.
	Workloads []*Workload
	// PriorityClasses has all PriorityClasses by name.
	PriorityClasses map[string]*schedulingv1.PriorityClass
	// Dimensions are those of all amounts.
	Dimensions *ledger.Dimensions
	// NotReady has the clusters that cannot be reached.
	NotReady map[string]bool
	// Left returns what a member cluster still has of a workload, as it was after a time. It is nil if members are not looked at.
	Left func(w *Workload, cluster string, after time.Time) Left
}

// Left is what a member cluster has of a workload.
type Left struct {
	// Err says why nothing is known of that, nil if it is known.
	Err error
	// Generation is that of the object on the control plane which the object in the member was made from. It is empty if the member has
	// no such object.
	Generation string
	// Pods is how many of its pods have not ended.
	Pods int64
	// Ending is how many of these are being deleted.
	Ending int64
	// Again is when the member may be asked again, zero if it is being asked. Then a new cycle begins when it has answered.
	Again time.Time
}

// Lost is an object that a member cluster has, and that Karmada has lost: it has neither a ResourceBinding nor a Work any more.
type Lost struct {
	Cluster, APIVersion string
	// Template is what the object says in the member, Err what is wrong in it.
	Template *workload.Template
	Err      error
}

// QueueLimits are the limits of a queue, without those of its ancestors.
type QueueLimits struct {
	Capability, Deserved, Guarantee ledger.Amounts
	// ListsCards says that the queue has a card quota.
	ListsCards bool
	// Err says why a quota of the queue cannot be read. Nothing more is granted in the queue then.
	Err error
}
