// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"slices"
	"time"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
)

// waitedFor reports whether the time limit for an unsuccessful grant has passed. If not, it schedules a cycle for that time.
func (c *cycle) waitedFor(since time.Time) bool {
	until := since.Add(c.config.UnschedulableTimeout.Duration)
	if !until.After(c.Now) {
		return true
	}
	c.due(until)
	return false
}

// takeBackInVain takes back a grant that no cluster can use. The workload waits longer each time.
func (c *cycle) takeBackInVain(w *framework.Workload, why string) {
	requeue := c.inVain(w, why)
	c.endSoon(report.TakenBack(w, requeue), binding.PatchTakeBack(w.Binding, w.State.Hold, w.Queue, requeue), takesBackInVain(w, requeue))
}

// inVain returns the record of one more grant in vain.
func (c *cycle) inVain(w *framework.Workload, why string) *binding.Requeue {
	requeue := binding.Requeue{Attempts: 1, Reason: why}
	if before := w.State.Requeue; before != nil {
		requeue.Attempts = before.Attempts + 1
	}
	requeue.NotBefore.Time = c.Now.Add(c.backoff(requeue.Attempts))
	return &requeue
}

// replacedFor is how long after a grant claims may still be stored that the webhook has admitted before.
const replacedFor = 65 * time.Second

// replaced reports whether a workload needs more than it has just been granted, or may need more, because other claims or claim templates have taken the place
// of those that were counted. Its user may keep it from being counted. The webhook refuses that as soon as it knows of the grant.
func (c *cycle) replaced(w *framework.Workload) bool {
	grant := w.State.Grant
	if grant == nil || w.State.Hold != nil && !w.Grows() || w.State.Finished || c.Now.Sub(grant.Decided.Time) >= replacedFor {
		return false
	}
	return slices.ContainsFunc(w.Needs.Given, w.State.Replaced) && (w.Err != nil || c.grows(w)) || c.replacedMeanwhile(w)
}

// replacedMeanwhile reports whether claims that were counted have been replaced by others that are gone again. A cluster may have them, whatever the workload
// names now.
func (c *cycle) replacedMeanwhile(w *framework.Workload) bool {
	return c.Appeared != nil && c.Appeared(w.Binding.Namespace, w.State.Given(), w.Needs.Given, w.State.Grant.Decided.Time)
}

// takeBackReplaced takes back a grant after claims were replaced. Until its pods have ended, the workload is charged for what they may have got.
func (c *cycle) takeBackReplaced(w *framework.Workload) {
	const why = "a claim or claim template that its pods name gives more than the one of this name that was counted"
	requeue := c.inVain(w, why)
	if w.Err != nil || !c.grows(w) {
		c.endSoon(report.TakenBack(w, requeue), binding.PatchTakeBack(w.Binding, w.State.Hold, w.Queue, requeue), takesBack(w, requeue))
		return
	}
	grant := c.raised(w)
	c.Allocate(w) // others get none of it in this cycle either
	c.endSoon(report.TakenBack(w, requeue), binding.PatchTakeBackAs(w.Binding, w.State.Hold, grant, requeue), takesBackAs(w, grant, requeue))
}

// backoff returns how long a workload waits after a number of unsuccessful grants.
func (c *cycle) backoff(attempts int) time.Duration {
	backoff, limit := c.config.RequeueBackoff.Duration, c.config.RequeueBackoffLimit.Duration
	for range attempts - 1 {
		if backoff >= limit/2 {
			return limit
		}
		backoff *= 2
	}
	return min(backoff, limit)
}
