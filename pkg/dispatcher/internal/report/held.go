// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// Held is the decision about a workload that is refused room. Its text comes from the plugin that refuses it.
func Held(w *framework.Workload, refusal *framework.Refusal) Decision {
	return refused(w, KindHeld, refusal, "")
}

// GrowthHeld is the decision about a workload with a grant that is refused more.
func GrowthHeld(w *framework.Workload, refusal *framework.Refusal) Decision {
	d := refused(w, KindGrowthHeld, refusal, "What runs goes on, but the growth is held. ")
	d.Reason = GrowthHeldReason
	return d
}

func refused(w *framework.Workload, kind Kind, refusal *framework.Refusal, begin string) Decision {
	d := warning(w, kind, refusal.Reason, begin+refusal.Message)
	switch {
	case refusal.Never:
		d.Reason = NeverFitsReason
	case refusal.Reason == "":
		d.Reason = HeldReason
	}
	// The numbers in the message change whenever another workload comes or goes.
	d.about, d.scope = refusal.Reason, refusal.Scope
	return d
}

// WaitsBehind is the decision about a workload that waits behind another one for the same dimension.
func WaitsBehind(w, first *framework.Workload, scope framework.Scope) Decision {
	d := normal(w, KindHeld, WaitsBehindReason, fmt.Sprintf(
		"Queue <%s> has no <%s> for %s, which comes first: wait, raise the priority of this workload, or set strictOrder: false in the dispatcher's configuration",
		scope.Queue, scope.Dimension, object(first)))
	// Otherwise, all workloads behind the first would have news when it is granted room.
	d.about, d.scope = "", scope
	return d
}

// BacksOff is the decision about a workload that must wait after an unsuccessful grant.
func BacksOff(w *framework.Workload) Decision {
	requeue := w.State.Requeue
	return normal(w, KindHeld, HeldReason, fmt.Sprintf(
		"Queue <%s> does not try again before %s, because %d of its grants to this workload were in vain. The last time: %s",
		w.Queue, at(requeue.NotBefore.Time), requeue.Attempts, requeue.Reason))
}

// SuspendedByOthers is the decision about a workload that others have suspended.
func SuspendedByOthers(w *framework.Workload) Decision {
	return normal(w, KindHeld, HeldReason, fmt.Sprintf(
		"ResourceBinding %s was suspended by somebody else, so that queue <%s> grants it nothing: set its spec.suspension.scheduling to false to let it queue",
		w.Name(), w.Queue))
}

// MayRun is the decision about a waiting workload that may still run in part in a cluster.
func MayRun(w *framework.Workload) Decision {
	return normal(w, KindHeld, HeldReason, fmt.Sprintf(
		"Queue <%s> is charged for %s without a grant, because something of it may run in a cluster that it has left: it is tried again when its last Work is gone",
		w.Queue, object(w)))
}

// NoPolicy is the decision about a workload that Karmada's scheduler would ignore.
func NoPolicy(w *framework.Workload) Decision {
	return warning(w, KindHeld, NoPolicyReason, fmt.Sprintf(
		"No policy matches %s any more, so that Karmada ignores it, and queue <%s> grants it nothing: create a PropagationPolicy or ClusterPropagationPolicy for it, or delete it",
		object(w), w.Queue))
}

// CannotCount is the decision about a workload whose needs are unknown: see its Err.
func CannotCount(w *framework.Workload) Decision {
	return warning(w, KindHeld, CannotCountReason, fmt.Sprintf(
		"Queue <%s> grants nothing to %s, because what it needs is not known: %s", w.Queue, object(w), w.Err))
}

// AnnotationNotRead is the decision about a workload with an invalid annotation of the dispatcher on its binding.
func AnnotationNotRead(w *framework.Workload) Decision {
	return warning(w, KindHeld, CannotCountReason, fmt.Sprintf(
		"ResourceBinding %s is left as it is, because an annotation of the dispatcher cannot be read: %s. Correct or delete the annotation", w.Name(), w.State.Err))
}

// Finished is the decision about a workload that has ended in all its clusters.
func Finished(w *framework.Workload) Decision {
	return normal(w, KindFinished, FinishedReason, fmt.Sprintf("%s has ended (%s): queue <%s> is no longer charged for it", object(w), w.State.Ended, w.Queue))
}

// StillCharged is the decision about a workload that must end or shrink and that may run on for some time. Looked says that somebody has looked at its clusters. What
// they have is news then.
func StillCharged(w *framework.Workload, why string, looked bool) Decision {
	d := normal(w, KindStillCharged, StillChargedReason, fmt.Sprintf("Queue <%s> is still charged %s for %s: %s", w.Queue, amounts(w.State.Grant), object(w), why))
	if d.about = ""; !looked {
		d.about = "unseen"
	}
	return d
}

// StillRuns is the decision about a workload that should have ended or shrunk by now and has not.
func StillRuns(w *framework.Workload, why string) Decision {
	d := warning(w, KindStillRuns, StillRunsReason, fmt.Sprintf(
		"Queue <%s> is still charged %s for %s, although it should have ended by now: %s. If Karmada has lost it, delete it there",
		w.Queue, amounts(w.State.Grant), object(w), why))
	d.about = ""
	return d
}

// Lost is the decision about a workload that a member cluster has although Karmada has lost it.
func Lost(w *framework.Workload) Decision {
	is, why := "is", ""
	if w.Err != nil {
		is, why = "should be", fmt.Sprintf(", which cannot be counted: %s", w.Err)
	}
	return warning(w, KindStillRuns, StillRunsReason, fmt.Sprintf(
		"Queue <%s> %s charged for %s in cluster %s%s. Karmada has lost it: it has neither a ResourceBinding nor a Work. Delete it there",
		w.Queue, is, object(w), w.Lost, why))
}

// object returns kind, namespace, and name of the object that a binding propagates, for messages.
func object(w *framework.Workload) string {
	resource := &w.Binding.Spec.Resource
	name := resource.Name
	if resource.Namespace != "" {
		name = resource.Namespace + "/" + name
	}
	return resource.Kind + " " + name
}

// at formats a time for messages.
func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }
