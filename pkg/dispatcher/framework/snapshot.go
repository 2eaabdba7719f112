// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// RootQueue is the name of the queue above all others, as in Volcano.
const RootQueue = "root"

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
	// Fits says why no cluster can hold the largest part of a workload, nil if one can. It answers as if some others had left
	// their clusters. It is nil itself if clusters are not looked at.
	Fits func(w *Workload, without ...*Workload) *Refusal
}

// QueueLimits are the limits of a queue, without those of its ancestors.
type QueueLimits struct {
	Capability, Deserved, Guarantee ledger.Amounts
	// ListsCards says that the queue has a card quota.
	ListsCards bool
	// Err says why a quota of the queue cannot be read. Nothing more is granted in the queue then.
	Err error
}
