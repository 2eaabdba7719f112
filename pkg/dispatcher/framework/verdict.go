// SPDX-License-Identifier: Apache-2.0

package framework

import "github.com/devicequota/devicequota/pkg/ledger"

// Refusal says why a workload is not granted room. Nil means that it may be granted.
type Refusal struct {
	// Reason is the reason of the event.
	Reason string
	// Message is for people. It begins with the object, has the numbers, and ends with the remedy.
	Message string
	// Never says that the workload does not fit even if nothing else runs.
	Never bool
	// Scope is what the workload waits for. Later workloads that wait for the same may be kept behind it. It is zero if none are.
	Scope Scope
	// Passable says that later workloads are kept behind this one only while it waits for reclaimed room.
	Passable bool
}

// Scope is a dimension in a queue and in all queues below it.
type Scope struct {
	Queue     string
	Dimension ledger.Dimension
}
