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
	return grant
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
func recorded(w *framework.Workload) *binding.Grant {
	before, grace := w.State.Grant, w.State.Grant.Grace
	if w.Template != nil {
		grace = max(grace, w.Template.Grace)
	}
	if w.State.Change != nil {
		grace = max(grace, w.State.Change.Grace)
	}
	shape := before.Shape
	if w.State.Hold == nil {
		shape = shapeOf(w) // clusters see nothing of what a held workload has become
	}
	if grace == before.Grace && shape == before.Shape && slices.Equal(w.Places, before.Clusters) {
		return nil
	}
	grant := *before
	grant.Clusters, grant.Grace, grant.Shape = w.Places, grace, shape
	return &grant
}

// records notes on the binding where, how long, and as what pods of a workload may run, if that is not noted yet: when the grant ends, nothing
// else may tell any more. It reports whether it does.
func (c *cycle) records(w *framework.Workload) bool {
	if w.State.Grant == nil || w.State.Finished {
		return false
	}
	grant := recorded(w)
	if grant == nil {
		return false
	}
	c.end(report.Decision{Workload: w}, binding.PatchRecord(w.Binding, grant))
	return true
}
