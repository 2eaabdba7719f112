// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

type decision struct {
	// Decision is what users are told. Its kind is empty if there is nothing to report.
	report.Decision
	// patch is the patch of the binding, nil if there is none.
	patch []byte
	// again makes the patch for a later version of the binding. It is nil if the decision does not count for that.
	again again
	// frees says that the whole grant ends. It ends only if the API server has no Work of the binding.
	frees bool
	// counted says that the decision depends on the needs of the workload.
	counted bool
	// raises says that the decision charges the workload for more, even without room.
	raises bool
	// err is why the patch was not accepted.
	err error
}

// cycle decides about all workloads of one snapshot. It does no input or output.
type cycle struct {
	*framework.Session
	config *framework.Config
	// ends are decisions that end or reduce grants. Grants may need the room that they free.
	ends, grants []decision
	// victims are workloads that are taken back because other workloads deserve their room.
	victims []decision
	// told are decisions that write nothing.
	told []report.Decision
	// blocked has the first workload that waits for each dimension, by the name of the queue.
	blocked map[string][]blocker
	// asked has the queues for which victims were found already.
	asked map[string]bool
	// waiting has the workloads that wait for room, by queue.
	waiting map[string][]*framework.Workload
	// memory outlives the cycle.
	memory *memory
	// next is the time at which the next cycle is due without a change, zero if none is.
	next time.Time
}

// newCycle begins a cycle on an open session.
func newCycle(config *framework.Config, session *framework.Session, memory *memory) *cycle {
	session.Search = memory.search
	return &cycle{
		Session: session, config: config, memory: memory, waiting: map[string][]*framework.Workload{},
		told: make([]report.Decision, 0, len(session.Workloads)), blocked: map[string][]blocker{}, asked: map[string]bool{},
	}
}

// reconcileAll makes the decisions that need no room, for all workloads.
func (c *cycle) reconcileAll() {
	for _, w := range c.Workloads {
		if c.reconcile(w) {
			c.waiting[w.Queue] = append(c.waiting[w.Queue], w)
		}
	}
}

// free gives the room of ended grants to others, once the end is written.
func (c *cycle) free() {
	for i := range c.ends {
		if d := &c.ends[i]; d.frees && d.err == nil {
			c.Deallocate(d.Workload)
		}
	}
}

// tell adds a decision that writes nothing.
func (c *cycle) tell(d report.Decision) { c.told = append(c.told, d) }

// end adds a decision that ends or reduces a grant.
func (c *cycle) end(d report.Decision, patch []byte) {
	c.ends = append(c.ends, decision{Decision: d, patch: patch})
}

// regrant adds a decision that sets a grant to the needs of the workload.
func (c *cycle) regrant(d report.Decision, patch []byte) {
	c.ends = append(c.ends, decision{Decision: d, patch: patch, counted: true})
}

// raise adds a decision that raises a grant to the needs of the workload.
func (c *cycle) raise(d report.Decision, patch []byte) {
	c.ends = append(c.ends, decision{Decision: d, patch: patch, counted: true, raises: true})
}

// endAll adds a decision that ends a whole grant, because nothing of the workload runs any more.
func (c *cycle) endAll(d report.Decision, patch []byte, again again) {
	c.ends = append(c.ends, decision{Decision: d, patch: patch, again: again, frees: true})
}

// endSoon adds a decision that begins to take a grant back, or that is needed for that.
func (c *cycle) endSoon(d report.Decision, patch []byte, again again) {
	c.ends = append(c.ends, decision{Decision: d, patch: patch, again: again})
}

// grant adds a decision that grants a workload all its needs.
func (c *cycle) grant(d report.Decision, patch []byte) {
	c.grants = append(c.grants, decision{Decision: d, patch: patch, counted: true})
}

// reconcile makes the decision about a workload if it needs no room. It reports whether the workload waits for room.
func (c *cycle) reconcile(w *framework.Workload) bool {
	state := &w.State
	if until, leaves := w.LeavesAll(); leaves && until.After(c.Now) {
		c.due(until) // others may go instead then
	}
	switch {
	case w.Lost != "":
		c.reconcileLost(w)
	case state.Err != nil:
		c.tell(report.AnnotationNotRead(w))
	case state.Deleting:
		c.release(w)
	case state.SuspendedByOthers && state.Grant == nil:
		c.tell(report.SuspendedByOthers(w))
	case c.replaced(w):
		c.takeBackReplaced(w)
	case c.records(w):
	case w.Returns():
		c.endGrant(w)
	case state.Grant == nil && state.Hold == nil:
		c.adopt(w)
	case w.Waits():
		return c.mayBeTried(w)
	case w.Grows():
		return c.mayGrow(w)
	default:
		c.review(w)
	}
	return false
}

// karmadaFinalizer is the finalizer of the Karmada controller that makes Works. Until the controller has seen the deletion of
// a binding, it may make more Works.
const karmadaFinalizer = "karmada.io/binding-controller"

// release removes the finalizer of a deleted binding when nothing of it can run any more.
func (c *cycle) release(w *framework.Workload) {
	has := func(finalizer string) bool { return controllerutil.ContainsFinalizer(w.Binding, finalizer) }
	if !has(binding.Finalizer) || has(karmadaFinalizer) || len(w.Works) > 0 {
		c.memory.stirs(w)
		return
	}
	if w.State.Finished || w.State.Grant == nil || !c.records(w) && c.settled(w, remainder{about: "deleted", clusters: w.Places}) {
		c.endAll(report.Decision{Workload: w}, binding.PatchRemoveFinalizer(w.Binding), nil)
	}
}

// endGrant lets a workload wait again when nothing of it can run any more. For a short time after the clusters were cleared,
// Karmada may still make Works from old data.
func (c *cycle) endGrant(w *framework.Workload) {
	if len(w.Works) > 0 || len(w.Binding.Spec.Clusters) > 0 {
		c.memory.stirs(w)
		return
	}
	if c.settled(w, remainder{about: "taken back", clusters: w.Places}) {
		c.endAll(report.Returned(w), binding.PatchEndGrant(w.Binding, w.State.Hold), returned(w))
	}
}

// adopt records the use of a workload that runs without a grant. It is older than the dispatcher, or the webhook was not called.
func (c *cycle) adopt(w *framework.Workload) {
	switch {
	case w.State.Finished:
		c.tell(report.Finished(w))
	case w.Err != nil:
		c.tell(report.CannotCount(w))
	default:
		grant := c.grantOf(w, w.Queue)
		c.grant(report.Adopted(w, grant), binding.PatchAdopt(w.Binding, grant))
	}
}

// countsAgain is how long after a cycle for which not all workloads were counted the next one goes on.
const countsAgain = time.Second

// mayBeTried reports whether a waiting workload may be granted room in this cycle.
func (c *cycle) mayBeTried(w *framework.Workload) bool {
	switch requeue := w.State.Requeue; {
	case requeue != nil && requeue.NotBefore.After(c.Now):
		c.due(requeue.NotBefore.Time)
		c.tell(report.BacksOff(w))
	case mayRunUngranted(w):
		c.tell(report.MayRun(w))
	case w.State.NoPolicy:
		c.tell(report.NoPolicy(w))
	case w.Lags:
		c.due(c.Now.Add(countsAgain))
	case w.Err != nil:
		c.tell(report.CannotCount(w))
	default:
		return !c.changes(w)
	}
	return false
}

// mayRunUngranted reports whether a part of a waiting workload may run, for example because Karmada made a Work from old data.
// That part is charged already, so a grant would look free. Dependencies of other workloads run without a grant anyway.
func mayRunUngranted(w *framework.Workload) bool {
	return w.State.Hold.Reason == binding.Waiting && w.State.MayRun && len(w.Binding.Spec.RequiredBy) == 0
}

// mayGrow reports whether a grown workload needs more than its grant. If its owner has reverted the growth, mayGrow lifts the hold.
func (c *cycle) mayGrow(w *framework.Workload) bool {
	state := &w.State
	switch {
	case state.Finished:
		c.tell(report.Finished(w))
	case state.NotPlaced && c.waitedFor(state.PlacedUntil):
		c.takeBackInVain(w, state.WhyNotPlaced)
	case w.Err != nil:
		if !c.forgetsLeft(w) {
			c.tell(report.CannotCount(w))
		}
	case c.changes(w):
	case c.raisesCopies(w):
	case c.forgetsLeft(w): // it needs less without them
	case state.Hold.Ends && len(c.leftInReach(w)) > 0:
	case state.Hold.Ends && (c.evictsTooMuch(w) || c.comesBack(w)):
	case state.Hold.Ends && !state.Hold.PlacementOnly && !c.hasEnded(w):
	case !c.exceeds(w) && !c.forbidden(w):
		// It may need less than before. The grant shrinks later, when the member clusters have the smaller workload.
		c.regrant(report.Decision{Workload: w}, binding.PatchGrant(w.Binding, state.Hold, c.lifted(w)))
	case state.Hold.PlacementOnly && c.forgetsFormer(w):
	case state.Hold.PlacementOnly && lacksCopies(w):
		c.letChooseAgain(w)
	default:
		return true
	}
	return false
}

// changes reports whether an update of a workload may be on its way to the store, or is stored and not in the cache yet.
func (c *cycle) changes(w *framework.Workload) bool {
	known := w.Template.ResourceVersion
	if until, pending := w.State.Change.Pending(known, c.Now); pending {
		c.due(until)
		return true
	}
	return workload.Newer(w.Binding.Spec.Resource.ResourceVersion, known)
}

// review checks a workload that has what it was granted.
func (c *cycle) review(w *framework.Workload) {
	state := &w.State
	switch {
	case state.Finished:
		c.tell(report.Finished(w))
	case state.NotPlaced && c.waitedFor(state.PlacedUntil):
		c.takeBackInVain(w, state.WhyNotPlaced)
	case w.Err == nil && c.grows(w):
		grant := c.raised(w)
		c.raise(report.Exceeds(w, grant), binding.PatchRecord(w.Binding, grant))
	case state.Requeue != nil && !state.NotPlaced:
		c.end(report.Decision{Workload: w}, binding.PatchForgetRequeue(w.Binding))
	case w.Err == nil && c.differs(w):
		if !c.changes(w) && c.hasShrunk(w) {
			grant := c.shrunk(w, w.Spread.Copies, w.Needs.Settled)
			c.regrant(report.Shrunk(w, grant), binding.PatchAmounts(w.Binding, grant))
		}
	case !c.forgetsLeft(w): // former templates may stay for ever
		c.forgetsFormer(w)
	}
}

// due schedules a cycle.
func (c *cycle) due(at time.Time) {
	if c.next.IsZero() || at.Before(c.next) {
		c.next = at
	}
}
