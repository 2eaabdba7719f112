// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// grantOf returns a grant of everything that a workload needs.
func (c *cycle) grantOf(w *framework.Workload, queue string) *binding.Grant {
	grant := &binding.Grant{Queue: queue, Amounts: needs.ToGrant(c.Dimensions, w.Needs.All)}
	grant.Time.Time, grant.Decided.Time = c.Now, c.Now
	if w.Template != nil {
		grant.Group = w.Template.Group
	}
	if w.Template != nil {
		grant.Grace, grant.Shape, grant.Claims = w.Template.Grace, w.Template.Shape(), w.Needs.Claims
	}
	if before := w.State.Grant; before != nil {
		grant.Time, grant.Group = before.Time, before.Group
	}
	grant.Pod, grant.Given = c.largestPod(w), given(w)
	return grant
}

// given returns notes of the claims and claim templates that pods of a workload may name, including pods of former templates.
func given(w *framework.Workload) []string {
	return binding.AddGiven(w.State.Given(), w.Needs.Given)
}

// largestPod returns the maximum that a pod of a workload may have, including pods of former templates.
func (c *cycle) largestPod(w *framework.Workload) []binding.Amount {
	var before ledger.Amounts
	if w.State.Grant != nil {
		before = needs.FromGrant(c.Dimensions, w.State.Grant.Pod)
	}
	return needs.ToGrant(c.Dimensions, before.Max(w.Needs.Pod))
}

// formerPods reports whether clusters may make pods that are larger than the current template.
func (c *cycle) formerPods(w *framework.Workload) bool {
	return len(w.Needs.Pod) > 0 && len(needs.FromGrant(c.Dimensions, w.State.Grant.Pod).Beyond(w.Needs.Pod, nil)) > 0
}

// forgetsFormer ends the charge for former templates when all pods have been replaced. The amounts are lowered later.
func (c *cycle) forgetsFormer(w *framework.Workload) {
	if w.Err != nil || !c.formerPods(w) || c.changes(w) {
		return
	}
	may, missing := lowered(w)
	if missing == "" {
		missing = unreplaced(w, may)
	}
	if c.hasDone(w, may, missing) {
		grant := *w.State.Grant
		grant.Pod = needs.ToGrant(c.Dimensions, w.Needs.Pod)
		c.regrant(report.Decision{Workload: w}, binding.PatchRecord(w.Binding, &grant))
	}
}

// raised returns a grant of everything that a workload needs. It keeps amounts that are no longer needed, because they may still be in use.
func (c *cycle) raised(w *framework.Workload) *binding.Grant {
	grant, before := c.grantOf(w, w.State.Grant.Queue), w.State.Grant
	grant.Clusters, grant.Grace = before.Clusters, max(grant.Grace, before.Grace)
	grant.Shape, grant.Claims = shapeOf(w), before.Claims
	grant.Amounts = needs.ToGrant(c.Dimensions, needs.FromGrant(c.Dimensions, before.Amounts).Max(w.Needs.All))
	if w.After != nil || len(before.Keeps) > 0 {
		grant.Keeps = c.keeps(w)
	}
	return grant
}

// shrunk returns a grant of everything that a workload needs, which is less than its grant.
func (c *cycle) shrunk(w *framework.Workload) *binding.Grant {
	grant := c.grantOf(w, w.State.Grant.Queue)
	grant.Clusters = slices.Sorted(slices.Values(binding.Clusters(w.Binding)))
	if len(w.State.Grant.Keeps) > 0 {
		grant.Keeps = needs.ToGrant(c.Dimensions, afterwards(w))
	}
	return grant
}

// severalShapes is the shape of pods of several templates. No template has this shape.
const severalShapes = "several"

// shapeOf returns the shape of the pods of a workload. When the template returns to the granted shape, some pods may still have the shape in between.
func shapeOf(w *framework.Workload) string {
	before := w.State.Grant.Shape
	if w.Template == nil || w.TemplateErr != nil || w.Template.Shape() == before {
		return before
	}
	return severalShapes
}

// grantGrowth grants the needs of a workload that has grown. The grant shrinks when the member clusters have the change.
func (c *cycle) grantGrowth(w *framework.Workload) {
	grant := c.raised(w)
	c.grant(report.GrowthGranted(w, grant), binding.PatchGrant(w.Binding, w.State.Hold, grant))
}

// keeps returns the amounts that stay charged when a workload has left the clusters that it leaves: what its queue had room for before, or what it
// needs then, if that is more.
func (c *cycle) keeps(w *framework.Workload) []binding.Amount {
	return binding.NormalAmounts(needs.ToGrant(c.Dimensions, c.grantedToKeep(w).Max(afterwards(w))))
}

// grantedToKeep returns what a workload was granted, without the clusters that it leaves.
func (c *cycle) grantedToKeep(w *framework.Workload) ledger.Amounts {
	grant := w.State.Grant
	if len(grant.Keeps) == 0 {
		return needs.FromGrant(c.Dimensions, grant.Amounts)
	}
	return needs.FromGrant(c.Dimensions, grant.Keeps)
}

// afterwards returns what a workload needs when it has left the clusters that it leaves.
func afterwards(w *framework.Workload) ledger.Amounts {
	if w.After == nil {
		return w.Needs.All
	}
	return w.Keeps
}

// growsWhileItLeaves reports whether a workload needs more than it keeps, so that its queue must have room for the difference.
func (c *cycle) growsWhileItLeaves(w *framework.Workload) bool {
	return len(w.State.Grant.Keeps) > 0 && len(afterwards(w).Beyond(c.grantedToKeep(w), nil)) > 0
}

// endsMove ends the charge for clusters that a workload has left, except if it is about to move again and needs that charge again. It reports whether it
// makes such a decision.
func (c *cycle) endsMove(w *framework.Workload) bool {
	grows := w.State.Hold != nil && c.growsWhileItLeaves(w)
	if len(w.State.Grant.Keeps) == 0 || w.After != nil || !grows && binding.PlacementIsNew(w.Binding) {
		return false
	}
	grant := *w.State.Grant
	grant.Amounts, grant.Keeps, grant.Decided.Time = grant.Keeps, nil, c.Now
	c.end(report.Decision{Workload: w}, binding.PatchRecord(w.Binding, &grant))
	return true
}

// chargesLeaving charges a workload that was held before that for the clusters that it leaves. It reports whether it makes such a decision.
func (c *cycle) chargesLeaving(w *framework.Workload) bool {
	before, leaving := needs.FromGrant(c.Dimensions, w.State.Grant.Amounts), needs.WhileLeaving(c.Dimensions, w)
	if len(leaving.Beyond(before, nil)) == 0 {
		return false
	}
	grant := *w.State.Grant
	grant.Keeps, grant.Amounts, grant.Decided.Time = grant.Amounts, needs.ToGrant(c.Dimensions, before.Max(leaving)), c.Now
	c.raise(report.Exceeds(w, &grant), binding.PatchRecord(w.Binding, &grant))
	return true
}

// grantNew grants a waiting workload everything that it needs.
func (c *cycle) grantNew(w *framework.Workload) {
	grant := c.grantOf(w, w.Queue)
	c.grant(report.Granted(w, grant), binding.PatchGrant(w.Binding, w.State.Hold, grant))
}

// exceeds reports whether a workload needs more than it was granted in some dimension.
func (c *cycle) exceeds(w *framework.Workload) bool {
	for _, e := range w.Needs.All {
		if e.Amount.Cmp(granted(w, c.Dimensions.Dimension(e.Dimension))) > 0 {
			return true
		}
	}
	return false
}

// forbidden reports whether the queue refuses something that a workload asks for and that is not an amount. The workload must have
// been granted all amounts that it needs.
func (c *cycle) forbidden(w *framework.Workload) bool {
	return len(w.Needs.Unlisted)+len(w.Needs.Unnamed) > 0 && c.Allocatable(w) != nil
}

func granted(w *framework.Workload, d ledger.Dimension) ledger.Amount {
	for i := range w.State.Grant.Amounts {
		if a := &w.State.Grant.Amounts[i]; a.Dimension == d {
			return a.Amount
		}
	}
	return ledger.Amount{}
}

// differs reports whether the needs of a workload differ from its grant.
func (c *cycle) differs(w *framework.Workload) bool {
	for _, a := range w.State.Grant.Amounts {
		o, known := c.Dimensions.Known(a.Dimension)
		if !known || w.Needs.All.Of(o) != a.Amount {
			return true
		}
	}
	return c.exceeds(w)
}

// recorded returns the grant with the current places, grace period, and pods of a workload, nil if the grant is up to date.
func (c *cycle) recorded(w *framework.Workload) *binding.Grant {
	before, grace := w.State.Grant, w.State.Grant.Grace
	if w.Template != nil {
		grace = max(grace, w.Template.Grace)
	}
	if w.State.Change != nil {
		grace = max(grace, w.State.Change.Grace)
	}
	shape, pod, claims, keeps := before.Shape, before.Pod, w.State.Given(), before.Keeps
	if w.State.Hold == nil { // clusters do not see the changes of a held workload
		shape, claims = shapeOf(w), given(w)
		if len(w.Needs.Pod.Beyond(needs.FromGrant(c.Dimensions, pod), nil)) > 0 {
			pod = c.largestPod(w)
		}
		if len(keeps) > 0 && w.Err == nil {
			keeps = c.keeps(w)
		}
	}
	if grace == before.Grace && shape == before.Shape && slices.Equal(pod, before.Pod) && slices.Equal(claims, before.Given) && slices.Equal(keeps, before.Keeps) &&
		slices.Equal(w.Places, before.Clusters) {
		return nil
	}
	grant := *before
	grant.Clusters, grant.Grace, grant.Shape, grant.Pod, grant.Given, grant.Keeps = w.Places, grace, shape, pod, claims, keeps
	return &grant
}

// records updates the grant on the binding with the places, grace period, and pods of a workload. When the grant ends, they may be
// recorded nowhere else. It reports whether it makes such a decision.
func (c *cycle) records(w *framework.Workload) bool {
	if w.State.Grant == nil || w.State.Finished {
		return false
	}
	grant := c.recorded(w)
	if grant == nil {
		return false
	}
	c.end(report.Decision{Workload: w}, binding.PatchRecord(w.Binding, grant))
	return true
}
