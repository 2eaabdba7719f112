// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"slices"
	"strconv"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

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
	if before := w.State.Grant; before != nil {
		grant.Time, grant.Group = before.Time, before.Group
	}
	return grant
}

// raised returns a grant of all that a workload needs, which keeps what it needs no more: it may still run that.
func (c *cycle) raised(w *framework.Workload) *binding.Grant {
	grant := c.grantOf(w, w.State.Grant.Queue)
	grant.Amounts = needs.ToGrant(c.Dimensions, needs.FromGrant(c.Dimensions, w.State.Grant.Amounts).Max(w.Needs.All))
	return grant
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

// membersKnow reports whether member clusters are told to run the workload as it is now, and where it is now. Before, they
// may run more of it.
func membersKnow(w *framework.Workload) bool {
	now := strconv.FormatInt(w.Template.Generation, 10)
	clusters := binding.Clusters(w.Binding)
	for _, work := range w.Works {
		told := work.Annotations[workv1alpha2.ResourceTemplateGenerationAnnotationKey]
		if told != "" && told != now && !w.Template.Fallback || !slices.Contains(clusters, binding.ClusterOf(work)) {
			return false
		}
	}
	return true
}
