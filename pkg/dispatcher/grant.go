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

// grantOf returns a grant of all that a workload needs.
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
	grant.Pod = c.largestPod(w)
	return grant
}

// largestPod returns the most that a pod of a workload may have, also of templates that it had before.
func (c *cycle) largestPod(w *framework.Workload) []binding.Amount {
	var before ledger.Amounts
	if w.State.Grant != nil {
		before = needs.FromGrant(c.Dimensions, w.State.Grant.Pod)
	}
	return needs.ToGrant(c.Dimensions, before.Max(w.Needs.Pod))
}

// formerPods reports whether clusters may make pods that are larger than the template says now.
func (c *cycle) formerPods(w *framework.Workload) bool {
	return len(w.Needs.Pod) > 0 && len(needs.FromGrant(c.Dimensions, w.State.Grant.Pod).Beyond(w.Needs.Pod, nil)) > 0
}

// forgetsFormer ends the charge for former templates when all pods have been replaced. The amounts are lowered after that. It reports
// whether it decides about that.
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
	}
	return true
}

// raised returns a grant of all that a workload needs, which keeps what it needs no more: it may still run that.
func (c *cycle) raised(w *framework.Workload) *binding.Grant {
	grant, before := c.grantOf(w, w.State.Grant.Queue), w.State.Grant
	grant.Clusters, grant.Grace = before.Clusters, max(grant.Grace, before.Grace)
	grant.Shape, grant.Claims = shapeOf(w), before.Claims
	grant.Amounts = needs.ToGrant(c.Dimensions, needs.FromGrant(c.Dimensions, before.Amounts).Max(w.Needs.All))
	return grant
}

// severalShapes stands for pods that were made of several templates. No template has this shape.
const severalShapes = "several"

// shapeOf returns what pods of a workload keep of the template that they were made from. If that becomes what it was when they were
// granted room, some may still be what it was meanwhile.
func shapeOf(w *framework.Workload) string {
	before := w.State.Grant.Shape
	if w.Template == nil || w.TemplateErr != nil || w.Template.Shape() == before {
		return before
	}
	return severalShapes
}

// grantGrowth grants a workload all that it has grown to need. The grant shrinks when the member clusters know the change.
func (c *cycle) grantGrowth(w *framework.Workload) {
	grant := c.raised(w)
	c.grant(report.GrowthGranted(w, grant), binding.PatchGrant(w.Binding, w.State.Hold, grant))
}

// grantNew grants a workload that waits all that it needs.
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

// forbidden reports whether a workload that was granted all amounts that it needs asks for something that none of them stands for,
// and that its queue does not grant.
func (c *cycle) forbidden(w *framework.Workload) bool {
	return len(w.Needs.Unlisted)+len(w.Needs.Unnamed) > 0 && c.Allocatable(w) != nil
}

// granted returns what a workload was granted of a dimension.
func granted(w *framework.Workload, d ledger.Dimension) ledger.Amount {
	for i := range w.State.Grant.Amounts {
		if a := &w.State.Grant.Amounts[i]; a.Dimension == d {
			return a.Amount
		}
	}
	return ledger.Amount{}
}

// differs reports whether a workload needs something else than it was granted.
func (c *cycle) differs(w *framework.Workload) bool {
	for _, a := range w.State.Grant.Amounts {
		o, known := c.Dimensions.Known(a.Dimension)
		if !known || w.Needs.All.Of(o) != a.Amount {
			return true
		}
	}
	return c.exceeds(w)
}

// recorded returns the grant of a workload with where, how long, and as what its pods may run by now, nil if it says that already.
func (c *cycle) recorded(w *framework.Workload) *binding.Grant {
	before, grace := w.State.Grant, w.State.Grant.Grace
	if w.Template != nil {
		grace = max(grace, w.Template.Grace)
	}
	if w.State.Change != nil {
		grace = max(grace, w.State.Change.Grace)
	}
	shape, pod := before.Shape, before.Pod
	if w.State.Hold == nil { // clusters see nothing of what a held workload has become
		shape = shapeOf(w)
		if len(w.Needs.Pod.Beyond(needs.FromGrant(c.Dimensions, pod), nil)) > 0 {
			pod = c.largestPod(w)
		}
	}
	if grace == before.Grace && shape == before.Shape && slices.Equal(pod, before.Pod) && slices.Equal(w.Places, before.Clusters) {
		return nil
	}
	grant := *before
	grant.Clusters, grant.Grace, grant.Shape, grant.Pod = w.Places, grace, shape, pod
	return &grant
}

// records notes on the binding where, how long, and as what pods of a workload may run, if that is not noted yet: when the grant ends, nothing
// else may tell any more. It reports whether it does.
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
