// SPDX-License-Identifier: Apache-2.0

package binding

import "time"

// State is the state of a binding. See Read.
type State struct {
	// Hold is the dispatcher's suspension, nil if there is none.
	Hold *Hold
	// Grant is what the binding was granted, nil if it has no grant.
	Grant *Grant
	// Requeue says when the binding may be tried again, nil if no grant was unsuccessful.
	Requeue *Requeue
	// Change is an update of the workload that may need more, nil if there was none since the last grant.
	Change *Change
	// SuspendedByOthers says that another controller or a policy suspends scheduling, perhaps in addition to a hold. The
	// dispatcher leaves the binding alone.
	SuspendedByOthers bool
	// NoPolicy says that no policy matches any more. Karmada's scheduler ignores the binding.
	NoPolicy bool
	// Deleting says that the binding is being deleted.
	Deleting bool
	// MayRun says that a part of the workload may run: the binding is not suspended, or has clusters, evictions, or Works.
	MayRun bool
	// Finished says that all clusters have reported the end of the workload. Ended says how it ended, for people.
	Finished bool
	Ended    string
	// NotPlaced says that no cluster runs a granted workload: Karmada's scheduler found none, or none has accepted it.
	// WhyNotPlaced is Karmada's reason. PlacedUntil is the time of Karmada's report, but not before the grant. NotPlaced is false
	// if clusters were removed and the scheduler has not answered yet, or if only an update of a running workload failed.
	NotPlaced    bool
	WhyNotPlaced string
	PlacedUntil  time.Time
	// Err says which annotations of the dispatcher cannot be read, nil if all can.
	Err error
}
