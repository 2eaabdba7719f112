// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"context"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/members"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
)

// leader is a dispatcher while it leads.
type leader struct {
	*Dispatcher
	// renewed reports whether the lease was renewed within a duration.
	renewed  func(time.Duration) bool
	reporter *report.Reporter
	// remains knows what members still have of workloads that must end or shrink.
	remains *members.Remains
	memory  *memory
}

// open opens a session. It also returns when the next one is due without a change, zero if none is.
func (d *leader) open(snapshot *framework.Snapshot) (*framework.Session, time.Time) {
	var due time.Time
	if d.remains != nil {
		d.remains.Turn()
		snapshot.Left = d.remains.Of
		var lost []framework.Lost
		lost, due = d.remains.Lost()
		snapshot.Workloads = append(snapshot.Workloads, d.cache.Lost(lost)...)
	}
	return framework.Open(d.config, snapshot), due
}

// runCycle takes a snapshot, decides, and writes the decisions. It returns the latest time for the next cycle.
func (d *leader) runCycle(ctx context.Context) time.Time {
	d.cache.ConfirmQuotas(ctx)
	began := time.Now()
	if !d.renewed(MaxDecisionAge) {
		klog.InfoS("A cycle of the dispatcher is left out, because its lease has not been renewed lately and another one may lead soon")
		return began.Add(d.period)
	}
	snapshot, err := d.cache.Snapshot(began)
	if err != nil {
		klog.ErrorS(err, "A cycle of the dispatcher is left out, because it cannot read what it decides on")
		return began.Add(d.period)
	}
	session, due := d.open(snapshot)
	c := newCycle(d.config, session, d.memory)
	if !due.IsZero() {
		c.due(due)
	}
	d.memory.forget(snapshot)
	c.reconcileAll()
	took := time.Since(began)
	d.write(ctx, began.Add(endsTake), c.ends)
	granting := time.Now()
	c.free()
	c.grantAll()
	took += time.Since(granting)
	d.write(ctx, began.Add(MaxDecisionAge), c.grants)
	d.write(ctx, began.Add(MaxDecisionAge), c.victims)
	c.again(time.Now().Add(d.period))
	told := c.effective()
	due = d.reporter.Cycle(&report.Cycle{Snapshot: snapshot, Decisions: told, Usage: report.UsageOf(session.Ledger, snapshot, told), Duration: took})
	if !due.IsZero() {
		c.due(due)
	}
	session.Close()
	return c.next
}

// again schedules a cycle if a decision was not written: no change may follow that would start one.
func (c *cycle) again(at time.Time) {
	failed := func(d decision) bool { return d.err != nil }
	if slices.ContainsFunc(c.ends, failed) || slices.ContainsFunc(c.grants, failed) || slices.ContainsFunc(c.victims, failed) {
		c.due(at)
	}
}

// effective returns the decisions that took effect and that are reported.
func (c *cycle) effective() []report.Decision {
	for _, list := range [][]decision{c.ends, c.grants, c.victims} {
		for i := range list {
			switch d := &list[i]; {
			case d.err != nil:
				klog.V(2).InfoS("A decision has not been written", "decision", d.Kind, "resourceBinding", klog.KObj(d.Workload.Binding), "err", d.err)
			case d.Kind != "":
				c.told = append(c.told, d.Decision)
			}
		}
	}
	return c.told
}
