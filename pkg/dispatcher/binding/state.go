// SPDX-License-Identifier: Apache-2.0

package binding

import "time"

// State is where a binding stands. See Read.
type State struct {
	// Hold is what the dispatcher has suspended, nil if nothing.
	Hold *Hold
	// Grant is what the binding was granted, nil if nothing.
	Grant *Grant
	// Requeue says when the binding may be tried again, nil if nothing was in vain.
	Requeue *Requeue
	// Change is an update of the workload that may need more, nil if there was none since the last grant.
	Change *Change
	// SuspendedByOthers says that somebody else suspends scheduling, maybe besides a hold. The dispatcher leaves such a
	// binding alone.
	SuspendedByOthers bool
	// NoPolicy says that no policy matches any more, so that Karmada's scheduler ignores the binding.
	NoPolicy bool
	// Deleting says that the binding is being deleted.
	Deleting bool
	// MayRun says that something of the binding may run: it is not suspended, or has clusters, evictions in progress, or
	// Works.
	MayRun bool
	// Finished says that all clusters have reported the end of the workload, Ended how it ended, for people.
	Finished bool
	Ended    string
	// NotPlaced says that no cluster runs the workload although it was granted: Karmada's scheduler has found none, or
	// none has accepted it. WhyNotPlaced says why, in Karmada's own words. PlacedUntil is since when it is so: when
	// Karmada said so, at the earliest the time of the grant. It is false while something has taken the clusters away and
	// the scheduler has not answered yet, and if an update has failed of what runs.
	NotPlaced    bool
	WhyNotPlaced string
	PlacedUntil  time.Time
	// Err says which of the dispatcher's annotations cannot be read. Nil if all can.
	Err error
}
