// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// Kind is the kind of a decision. It is a label of metrics.
type Kind string

// The kinds of decisions. See the functions that make them.
const (
	KindHeld          Kind = "held"
	KindGrowthHeld    Kind = "growth_held"
	KindFinished      Kind = "finished"
	KindGranted       Kind = "granted"
	KindGrowthGranted Kind = "growth_granted"
	KindShrunk        Kind = "shrunk"
	KindAdopted       Kind = "adopted"
	KindTakenBack     Kind = "taken_back"
	KindReclaimed     Kind = "reclaimed"
	KindReturned      Kind = "returned"
	KindStillCharged  Kind = "still_charged"
	KindStillRuns     Kind = "still_runs"
)

// lasts reports whether decisions of the kind say how things stand. They are made anew in each cycle, and are news only
// if they change. All others say what has just been done, and are always news.
func (k Kind) lasts() bool {
	switch k {
	case KindHeld, KindGrowthHeld, KindFinished, KindStillCharged, KindStillRuns:
		return true
	}
	return false
}

// Reasons of events.
const (
	// HeldReason says that a workload is not granted room, for a reason that is neither a quota nor a mistake.
	HeldReason        = "Held"
	WaitsBehindReason = "WaitsBehind"
	NeverFitsReason   = "NeverFits"
	NoPolicyReason    = "NoPolicy"
	CannotCountReason = "CannotCount"
	GrowthHeldReason  = "GrowthHeld"

	GrantedReason       = "Granted"
	GrowthGrantedReason = "GrowthGranted"
	ShrunkReason        = "Shrunk"
	AdoptedReason       = "Adopted"
	// GrantExceededReason says that a workload runs more than it was granted, and is charged for it.
	GrantExceededReason = "GrantExceeded"
	TakenBackReason     = "TakenBack"
	ReclaimedReason     = "Reclaimed"
	ReturnedReason      = "Returned"
	FinishedReason      = "Finished"

	// StillChargedReason says that something of a workload may run for some time that it no longer needs.
	StillChargedReason = "StillCharged"
	// StillRunsReason says that something of a workload runs that should have ended.
	StillRunsReason = "StillRuns"

	// NeedsEstimatedReason says that something is counted instead of what could not be read.
	NeedsEstimatedReason = "NeedsEstimated"

	// QuotaNotReadReason is that of the event on a queue with a quota that is invalid, as in the scheduler.
	QuotaNotReadReason = "QuotaNotRead"
)

// Decision is what the dispatcher decided about a workload, and the words for people.
type Decision struct {
	Workload *framework.Workload
	// Kind is empty if there is nothing to tell.
	Kind Kind
	// Type, Reason, and Message are those of the event.
	Type, Reason, Message string

	// about or scope is what the decision is about. Two decisions of the same kind and reason about the same differ in
	// numbers at most.
	about string
	scope framework.Scope
}

// Patch is what the patch that carries the decision out is called in metrics.
func (d *Decision) Patch() Patch {
	if d.Kind == "" {
		return PatchBookkeeping
	}
	return Patch(d.Kind)
}

// news is what makes a decision news.
type news struct {
	kind          Kind
	reason, about string
	scope         framework.Scope
}

func (d *Decision) news() news { return news{d.Kind, d.Reason, d.about, d.scope} }

// normal makes a decision that nobody has to act on.
func normal(w *framework.Workload, kind Kind, reason, message string) Decision {
	message = bounded(message)
	return Decision{Workload: w, Kind: kind, Type: corev1.EventTypeNormal, Reason: reason, Message: message, about: message}
}

// warning makes a decision that people should know of.
func warning(w *framework.Workload, kind Kind, reason, message string) Decision {
	d := normal(w, kind, reason, message)
	d.Type = corev1.EventTypeWarning
	return d
}

// maxMessage bounds the length of a message in bytes. Karmada's words, which some messages quote, list each cluster.
const maxMessage = 1000

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	end := maxMessage
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return strings.TrimSpace(message[:end]) + " ..."
}
