// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/report"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// line is the workloads of a queue that wait for room, in their order.
type line struct {
	queue     string
	workloads []*framework.Workload
}

// lines is a heap of lines.
type lines struct {
	all     []*line
	compare func(a, b string) int
}

func (l *lines) Len() int           { return len(l.all) }
func (l *lines) Less(i, j int) bool { return l.compare(l.all[i].queue, l.all[j].queue) < 0 }
func (l *lines) Swap(i, j int)      { l.all[i], l.all[j] = l.all[j], l.all[i] }
func (l *lines) Push(x any)         { l.all = append(l.all, x.(*line)) }
func (l *lines) Pop() any {
	last := l.all[len(l.all)-1]
	l.all = l.all[:len(l.all)-1]
	return last
}

// grantAll grants room to those that wait, queue by queue, in the order that the plugins say.
func (c *cycle) grantAll() {
	c.grantPromised()
	order := &lines{compare: c.QueueOrder}
	for queue, workloads := range c.waiting {
		slices.SortFunc(workloads, c.JobOrder)
		order.all = append(order.all, &line{queue, workloads})
	}
	slices.SortFunc(order.all, func(a, b *line) int { return strings.Compare(a.queue, b.queue) })
	heap.Init(order)
	for order.Len() > 0 {
		first := order.all[0]
		if c.grantFirst(first); len(first.workloads) == 0 {
			heap.Pop(order)
			continue
		}
		heap.Init(order) // a grant changes the shares of a queue's ancestors, too, and with them the order of other queues
	}
}

// grantPromised grants room first to those for whom others have given it back, in the order in which that happened. Otherwise
// the queue that gave it back might get it again, and would have to give it back for ever.
func (c *cycle) grantPromised() {
	var first []*framework.Workload
	for queue, workloads := range c.waiting {
		c.waiting[queue] = slices.DeleteFunc(workloads, func(w *framework.Workload) bool {
			_, promised := c.memory.promised[w.Binding.UID]
			if promised {
				first = append(first, w)
			}
			return promised
		})
	}
	slices.SortFunc(first, func(a, b *framework.Workload) int {
		return cmp.Or(c.memory.promised[a.Binding.UID].Compare(c.memory.promised[b.Binding.UID]), strings.Compare(a.Name(), b.Name()))
	})
	for _, w := range first {
		c.consider(w)
	}
}

// grantFirst grants room to the first workload of a line that may have it, and removes the workload and those that were
// refused.
func (c *cycle) grantFirst(l *line) {
	for len(l.workloads) > 0 {
		w := l.workloads[0]
		l.workloads = l.workloads[1:]
		if c.consider(w) {
			return
		}
	}
}

// consider grants room to a workload or refuses it, and reports whether it was granted.
func (c *cycle) consider(w *framework.Workload) bool {
	if first := c.behind(w); first != nil {
		waits := first.behind
		waits.Workload = w
		c.tell(waits)
		return false
	}
	refusal := c.Enqueueable(w)
	if refusal == nil {
		refusal = c.Allocatable(w)
	}
	if refusal != nil {
		c.refuse(w, refusal)
		return false
	}
	c.Allocate(w)
	if w.Grows() {
		c.grantGrowth(w)
	} else {
		c.grantNew(w)
	}
	return true
}

// refuse refuses a workload. If others owe it what it lacks, they give it back.
func (c *cycle) refuse(w *framework.Workload, refusal *framework.Refusal) {
	if w.Grows() {
		c.tell(report.GrowthHeld(w, refusal))
	} else {
		c.tell(report.Held(w, refusal))
	}
	if refusal.Never {
		return
	}
	c.takeBackFor(w)
	if _, promised := c.memory.promised[w.Binding.UID]; promised || !refusal.Passable {
		c.block(w, refusal.Scope)
	}
}

// takeBackFor takes back what others owe a workload.
func (c *cycle) takeBackFor(w *framework.Workload) {
	if c.asked[w.Queue] {
		return // what the first one in line takes back comes first
	}
	c.asked[w.Queue] = true
	for _, victim := range c.Reclaimable(w) {
		requeue := binding.Requeue{Reason: "reclaimed for " + w.Name()}
		if before := victim.State.Requeue; before != nil {
			requeue.Attempts = before.Attempts
		}
		requeue.NotBefore.Time = c.Now
		c.memory.promise(w, c.Now)
		c.victims = append(c.victims, decision{Decision: report.Reclaimed(victim, w), patch: binding.PatchTakeBack(victim.Binding, victim.State.Hold, victim.Queue, &requeue)})
	}
}

// blocker is the workload that waits first for a dimension in a queue.
type blocker struct {
	dimension ledger.Ordinal
	// behind is what those are told that wait behind it. It is the same for all of them, but for the workload.
	behind report.Decision
}

// block keeps others behind a workload that ask for the same, unless they are kept behind another one already.
func (c *cycle) block(w *framework.Workload, scope framework.Scope) {
	o, known := c.Dimensions.Known(scope.Dimension)
	if !known || scope.Queue == "" || slices.ContainsFunc(c.blocked[scope.Queue], func(b blocker) bool { return b.dimension == o }) {
		return
	}
	c.blocked[scope.Queue] = append(c.blocked[scope.Queue], blocker{o, report.WaitsBehind(nil, w, scope)})
}

// asksFor reports whether a workload asks for something of a dimension besides what it was granted.
func (c *cycle) asksFor(w *framework.Workload, o ledger.Ordinal) bool {
	return slices.ContainsFunc(w.Needs.All, func(e ledger.Entry) bool {
		return e.Dimension == o && (w.State.Grant == nil || e.Amount.Cmp(granted(w, c.Dimensions.Dimension(o))) > 0)
	})
}

// behind returns who waits first for something that a workload asks for, nil if there is nobody.
func (c *cycle) behind(w *framework.Workload) *blocker {
	if len(c.blocked) == 0 {
		return nil
	}
	queue := w.Queue
	for range c.Queues { // a cycle of queues has no end
		blockers := c.blocked[queue]
		for i := range blockers {
			b := &blockers[i]
			if c.asksFor(w, b.dimension) {
				return b
			}
		}
		spec := c.Queues[queue]
		if spec == nil || queue == quota.Root {
			break
		}
		if queue = spec.Spec.Parent; queue == "" {
			queue = quota.Root
		}
	}
	return nil
}
