// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/internal/needs"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

// books is the ledger of a session, with the charge of each workload.
type books struct {
	*ledger.Ledger
	snapshot *framework.Snapshot
	specs    []ledger.QueueSpec
	// misplaced says why a queue is not in the ledger.
	misplaced map[string]string
	charges   map[*framework.Workload]*charge
	groups    map[groupKey]*group
	// unused is the ledger without charges. It is nil until it is first needed.
	unused *ledger.Ledger
	// changes counts the changes since the session was opened.
	changes int
}

// charge is the charge of a workload.
type charge struct {
	workload *framework.Workload
	queue    ledger.QueueID
	holder   ledger.Holder
	// amounts is what the workload may use. The part of a PodGroup is smaller if pods use its reserve.
	amounts ledger.Amounts
	part    *ledger.Part
	// group is the PodGroup that the workload is or belongs to, nil if there is none.
	group *group
}

// newBooks charges all grants, and the workloads that run without a grant.
func newBooks(s *framework.Snapshot, a arguments) *books {
	b := &books{
		snapshot: s,
		charges:  map[*framework.Workload]*charge{}, groups: map[groupKey]*group{},
	}
	b.specs, b.misplaced = queueSpecs(s, a)
	b.Ledger, _ = ledger.New(s.Dimensions, nil, b.specs)
	for _, w := range s.Workloads {
		if amounts := b.due(w); len(amounts) > 0 {
			b.set(w, amounts)
		}
	}
	b.changes = 0
	return b
}

// due returns the charge of a workload at the start of the session.
func (b *books) due(w *framework.Workload) ledger.Amounts {
	grant := w.State.Grant
	switch {
	case w.State.Finished, grant == nil && !w.State.MayRun:
		return nil
	case grant == nil && w.Err != nil:
		return nil
	case grant == nil:
		return w.Needs.All
	}
	return needs.Charged(b.snapshot.Dimensions, w)
}

// allocate charges a workload all its needs. It keeps the previous charge, too, because pods of the previous grant may still run.
func (b *books) allocate(w *framework.Workload) {
	amounts := w.Needs.All
	if c := b.charges[w]; c != nil {
		amounts = append(ledger.Amounts(nil), c.amounts...).Max(amounts)
	}
	b.set(w, amounts)
}

// deallocate ends the charge of a workload.
func (b *books) deallocate(w *framework.Workload) { b.set(w, nil) }

// set replaces the charge of a workload. Without amounts, it ends the charge.
func (b *books) set(w *framework.Workload, amounts ledger.Amounts) {
	c := b.charges[w]
	if c == nil && len(amounts) == 0 {
		return
	}
	b.changes++
	var err error
	switch {
	case len(amounts) == 0:
		err = b.Release(c.part, c.holder)
		delete(b.charges, w)
		c.amounts = nil
	case c == nil:
		c = b.newCharge(w, amounts)
		b.charges[w] = c
		err = b.Charge(c.queue, c.holder, ledger.Demand{c.part})
	default:
		c.amounts = amounts
		err = b.Amend(c.part, amounts)
	}
	if err == nil && c.group != nil {
		err = b.regroup(c.group, c)
	}
	if err != nil {
		klog.ErrorS(err, "A workload cannot be charged", "workload", klog.KObj(w.Binding), "queue", w.Queue)
	}
}

func (b *books) newCharge(w *framework.Workload, amounts ledger.Amounts) *charge {
	c := &charge{workload: w, queue: b.payer(w), holder: ledger.Holder(w.Name()), amounts: amounts, part: ledger.NewPart(amounts)}
	c.group = b.groupOf(w, c.queue)
	return c
}

// payer returns the queue of a workload, or root if the ledger does not have that queue.
func (b *books) payer(w *framework.Workload) ledger.QueueID {
	if id, found := b.Queue(w.Queue); found {
		return id
	}
	id, _ := b.Queue(quota.Root)
	return id
}

// asks returns the part of amounts that a workload is not charged for already.
func (b *books) asks(w *framework.Workload, queue ledger.QueueID, amounts ledger.Amounts) ledger.Amounts {
	c, g := b.charges[w], b.groupOf(w, queue)
	if g != nil && isGroup(w) {
		amounts = amounts.Beyond(g.used(nil), nil)
		if c != nil {
			amounts = amounts.Beyond(c.part.Amounts(), nil)
		}
		return amounts
	}
	if c != nil {
		amounts = amounts.Beyond(c.amounts, nil)
	}
	if g != nil && g.reserve != nil {
		amounts = amounts.Beyond(g.reserve.part.Amounts(), nil) // this part of the reserve is not in use
	}
	return amounts
}

// empty returns the ledger without charges.
func (b *books) empty() *ledger.Ledger {
	if b.unused == nil {
		b.unused, _ = ledger.New(b.snapshot.Dimensions, nil, b.specs)
	}
	return b.unused
}
