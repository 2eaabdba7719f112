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

// lasts reports whether decisions of the kind describe a state. They are made in each cycle, and are news only if they change.
// Decisions of all other kinds describe an action, and are always news.
func (k Kind) lasts() bool {
	switch k {
	case KindHeld, KindGrowthHeld, KindFinished, KindStillCharged, KindStillRuns:
		return true
	}
	return false
}

// Reasons of events on workloads of the dispatcher.
const (
	// HeldReason says that a workload is not granted room, for a reason that is neither a quota nor a mistake.
	HeldReason = "Held"
	// WaitsBehindReason says that workloads that come first wait for the same.
	WaitsBehindReason = "WaitsBehind"
	// NeverFitsReason says that the quota is too small even if no other workload has anything.
	NeverFitsReason = "NeverFits"
	// NoPolicyReason says that no policy of Karmada selects the workload.
	NoPolicyReason = "NoPolicy"
	// CannotCountReason says that the needs of the workload cannot be counted.
	CannotCountReason = "CannotCount"
	// GrowthHeldReason says that the workload goes on as it was, and waits for room for what it needs more.
	GrowthHeldReason = "GrowthHeld"

	// GrantedReason says that the workload may start.
	GrantedReason = "Granted"
	// GrowthGrantedReason says that the workload may grow.
	GrowthGrantedReason = "GrowthGranted"
	// ShrunkReason says that the workload needs less, and its queue is charged less.
	ShrunkReason = "Shrunk"
	// AdoptedReason says that the workload ran already, and is charged from now on.
	AdoptedReason = "Adopted"
	// GrantExceededReason says that a workload runs more than it was granted, and is charged for it.
	GrantExceededReason = "GrantExceeded"
	// TakenBackReason says that the workload did not start in any cluster in time, and waits for its turn again.
	TakenBackReason = "TakenBack"
	// ReclaimedReason says that another queue takes back what it deserves, so that the workload is suspended.
	ReclaimedReason = "Reclaimed"
	// ReturnedReason says that a workload that was suspended has left all clusters.
	ReturnedReason = "Returned"
	// FinishedReason says that the workload has ended.
	FinishedReason = "Finished"

	// StillChargedReason says that something of a workload may run for some time that it no longer needs.
	StillChargedReason = "StillCharged"
	// StillRunsReason says that something of a workload runs that should have ended.
	StillRunsReason = "StillRuns"

	// NeedsEstimatedReason says that something is counted instead of what could not be read.
	NeedsEstimatedReason = "NeedsEstimated"
)

// Reasons of events on queues of the dispatcher.
const (
	// QuotaNotReadReason says that a quota is invalid, as in the scheduler.
	QuotaNotReadReason = "QuotaNotRead"
)

// Decision is a decision about a workload, with its text for people.
type Decision struct {
	Workload *framework.Workload
	// Kind is empty if there is nothing to report.
	Kind Kind
	// Type, Reason, and Message are the fields of the event.
	Type, Reason, Message string

	// about or scope is the subject of the decision. Two decisions with the same kind, reason, and subject differ at most in numbers.
	about string
	scope framework.Scope
}

// Patch returns the label of the decision's patch in metrics.
func (d *Decision) Patch() Patch {
	if d.Kind == "" {
		return PatchBookkeeping
	}
	return Patch(d.Kind)
}

// news has the fields that make a decision news when they change.
type news struct {
	kind          Kind
	reason, about string
	scope         framework.Scope
}

func (d *Decision) news() news { return news{d.Kind, d.Reason, d.about, d.scope} }

// normal makes a decision that requires no action from people.
func normal(w *framework.Workload, kind Kind, reason, message string) Decision {
	message = bounded(message)
	return Decision{Workload: w, Kind: kind, Type: corev1.EventTypeNormal, Reason: reason, Message: message, about: message}
}

// warning makes a decision that people should know about.
func warning(w *framework.Workload, kind Kind, reason, message string) Decision {
	d := normal(w, kind, reason, message)
	d.Type = corev1.EventTypeWarning
	return d
}

// maxMessage bounds the length of a message in bytes. Some messages quote Karmada, which lists each cluster.
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
