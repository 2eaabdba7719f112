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

// grantOf returns a grant of everything that a workload needs in the clusters that it does not leave.
func (c *cycle) grantOf(w *framework.Workload, queue string) *binding.Grant {
	grant := &binding.Grant{Queue: queue}
	grant.Time.Time, grant.Decided.Time = c.Now, c.Now
	if w.Template != nil {
		grant.Group = w.Template.Group
		grant.Grace, grant.Shape, grant.Claims = w.Template.Grace, w.Template.Shape(), w.Needs.Claims
	}
	if before := w.State.Grant; before != nil {
		grant.Time, grant.Group, grant.Moves = before.Time, before.Group, before.Moves
	}
	grant.Pod, grant.Given = c.largestPod(w), given(w)
	grant.Amounts, grant.Copies, grant.Copy = needs.ToGrant(c.Dimensions, w.Needs.Stays), w.Spread.Copies, c.largestCopy(w)
	return grant
}

// largestCopy returns the most that one copy of a workload may have, of all templates that clusters may have.
func (c *cycle) largestCopy(w *framework.Workload) []binding.Amount {
	return needs.ToGrant(c.Dimensions, needs.OneCopy(c.Dimensions, w.State.Grant).Max(w.Needs.Copy))
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

// forgetsFormer ends the charge for former templates when all pods have been replaced. The amounts are lowered later. It reports whether it makes such
// a decision.
func (c *cycle) forgetsFormer(w *framework.Workload) bool {
	if w.Err != nil || !c.formerPods(w) || c.changes(w) {
		return false
	}
	may, missing := lowered(w)
	if missing == "" {
		missing = unreplaced(w, may)
	}
	if c.hasDone(w, may, missing) {
		grant := *w.State.Grant
		grant.Pod = needs.ToGrant(c.Dimensions, w.Needs.Pod)
		c.regrant(report.Decision{Workload: w}, binding.PatchRecord(w.Binding, &grant))
		return true
	}
	return false
}

// raised returns a grant of everything that a workload needs. It keeps what its pods have of former templates.
func (c *cycle) raised(w *framework.Workload) *binding.Grant {
	grant, before := c.grantOf(w, w.State.Grant.Queue), w.State.Grant
	grant.Clusters, grant.Grace = before.Clusters, max(grant.Grace, before.Grace)
	grant.Shape, grant.Claims = shapeOf(w), before.Claims
	return grant
}

// shrunk returns a grant of what a workload needs when all clusters have carried out the current template, for a number of copies.
func (c *cycle) shrunk(w *framework.Workload, copies int64, amounts ledger.Amounts) *binding.Grant {
	grant := c.grantOf(w, w.State.Grant.Queue)
	grant.Clusters = slices.Sorted(slices.Values(binding.Clusters(w.Binding)))
	grant.Amounts, grant.Copies, grant.Copy = needs.ToGrant(c.Dimensions, amounts), copies, needs.ToGrant(c.Dimensions, w.Needs.Copy)
	return grant
}

// lifted returns the grant of a workload that is held no longer, and needs no more than it is charged.
func (c *cycle) lifted(w *framework.Workload) *binding.Grant {
	if c.grows(w) {
		return c.raised(w)
	}
	grant := c.unraised(w)
	if w.Spread.Copies > grant.Copies { // none of them has anything
		grant.Copies, grant.Copy = w.Spread.Copies, c.largestCopy(w)
	}
	return grant
}

// unraised returns the grant of a workload whose clusters see its current template, with the same amounts.
func (c *cycle) unraised(w *framework.Workload) *binding.Grant {
	grant := *w.State.Grant
	grant.Shape, grant.Pod, grant.Given = shapeOf(w), c.largestPod(w), given(w)
	return &grant
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

// grantNew grants a waiting workload everything that it needs.
func (c *cycle) grantNew(w *framework.Workload) {
	grant := c.grantOf(w, w.Queue)
	c.grant(report.Granted(w, grant), binding.PatchGrant(w.Binding, w.State.Hold, grant))
}

// grows reports whether a workload needs more than its queue has granted, without the clusters that it leaves.
func (c *cycle) grows(w *framework.Workload) bool {
	return len(needs.Exceeds(c.Dimensions, w.Needs, w.State.Grant)) > 0
}

// exceeds reports whether a workload that grows needs more than it is charged.
func (c *cycle) exceeds(w *framework.Workload) bool {
	return c.grows(w) && len(w.Needs.All.Beyond(needs.Charged(c.Dimensions, w), nil)) > 0
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

// differs reports whether a workload needs less than its grant when all clusters have carried out the current template.
func (c *cycle) differs(w *framework.Workload) bool {
	grant := w.State.Grant
	return grant.Copies != max(1, w.Spread.Copies) || !slices.Equal(binding.NormalAmounts(grant.OneCopy()), binding.NormalAmounts(needs.ToGrant(c.Dimensions, w.Needs.Copy)))
}

// recorded returns the grant with the current places, grace period, and pods of a workload, nil if the grant is up to date.
func (c *cycle) recorded(w *framework.Workload) *binding.Grant {
	before := w.State.Grant
	grant := *before
	grant.Clusters, grant.Given = w.Places, w.State.Given()
	grant.Moves = moves(w, len(w.Leaves()))
	if w.Returns() { // no cluster gets what its user writes now, who could keep it from its end for ever
		grant.Given = before.Given
	} else if w.Template != nil {
		grant.Grace = max(grant.Grace, w.Template.Grace)
	}
	if w.State.Change != nil {
		grant.Grace = max(grant.Grace, w.State.Change.Grace)
	}
	if !w.State.Hold.Hides() { // clusters do not see the changes of other held workloads
		grant.Shape, grant.Given = shapeOf(w), given(w)
		if len(w.Needs.Pod.Beyond(needs.FromGrant(c.Dimensions, before.Pod), nil)) > 0 {
			grant.Pod = c.largestPod(w)
		}
	}
	if grant.Grace == before.Grace && grant.Shape == before.Shape && grant.Moves == before.Moves && slices.Equal(grant.Pod, before.Pod) &&
		slices.Equal(grant.Given, before.Given) && slices.Equal(grant.Clusters, before.Clusters) {
		return nil
	}
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
	decided := report.Decision{Workload: w}
	if w.Returns() {
		c.endSoon(decided, binding.PatchRecord(w.Binding, grant), records(w, grant))
		return true
	}
	if grant.Moves && !w.State.Grant.Moves {
		charged := *grant
		charged.Amounts = needs.ToGrant(c.Dimensions, needs.Charged(c.Dimensions, w))
		decided = report.Moves(w, &charged)
	}
	record, before := c.end, w.State.Grant
	if grant.Shape != before.Shape || !slices.Equal(grant.Pod, before.Pod) {
		record = c.raise // an old version of its template, which no cluster has, would be charged from then on
	}
	record(decided, binding.PatchRecord(w.Binding, grant))
	return true
}
