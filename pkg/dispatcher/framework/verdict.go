// SPDX-License-Identifier: Apache-2.0

package framework

import "github.com/devicequota/devicequota/pkg/ledger"

// Refusal says why a workload is not granted room. Nil means that nothing is in the way.
type Refusal struct {
	// Reason is the reason of the event.
	Reason string
	// Message is for people. It begins with the object, has the numbers, and ends with the remedy.
	Message string
	// Never says that the workload does not fit even if nothing else runs.
	Never bool
	// Scope is what the workload waits for: others that come later and wait for the same may be kept behind it. It is the
	// zero value if nobody is kept behind it.
	Scope Scope
	// Passable says that others are kept behind the workload only while it waits for what others give back for it.
	Passable bool
}

// Scope is a dimension in a queue and in all queues below it.
type Scope struct {
	Queue     string
	Dimension ledger.Dimension
}
