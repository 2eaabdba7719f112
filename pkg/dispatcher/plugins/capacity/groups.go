// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// groupKey identifies a PodGroup. Workloads of other queues cannot use its reserve.
type groupKey struct {
	queue           ledger.QueueID
	namespace, name string
}

// group is a PodGroup and the workloads that name it. They use its reserve, so both together are charged once.
type group struct {
	// reserve is the charge of the PodGroup itself, nil if it has none.
	reserve *charge
	// members has what each workload that names the PodGroup is charged, and sum has all of it: a PodGroup may have thousands.
	members map[*charge]ledger.Amounts
	sum     ledger.Amounts
}

// groupOf returns the group of a workload, nil if it has none.
func (b *books) groupOf(w *framework.Workload, queue ledger.QueueID) *group {
	name := groupName(w)
	if name == "" {
		return nil
	}
	key := groupKey{queue, w.Binding.Namespace, name}
	if b.groups[key] == nil {
		b.groups[key] = &group{members: map[*charge]ledger.Amounts{}}
	}
	return b.groups[key]
}

// groupName returns the name of a workload's group. After a grant, it is the group at the time of the grant.
func groupName(w *framework.Workload) string {
	switch {
	case isGroup(w):
		return w.Template.Name
	case w.State.Grant != nil:
		return w.State.Grant.Group
	case w.Template == nil:
		return ""
	default:
		return w.Template.Group
	}
}

func isGroup(w *framework.Workload) bool {
	return w.Template != nil && w.Template.Kind == workload.PodGroup.Kind
}

// used returns the sum of the charges of the group's workloads, except gone ones.
func (g *group) used(gone []*charge) ledger.Amounts {
	used := g.sum
	for _, c := range gone {
		used = used.Beyond(g.members[c], nil)
	}
	return used
}

// set replaces the charge of a member. Without amounts, it ends the charge.
func (g *group) set(c *charge, amounts ledger.Amounts) {
	g.sum = g.used([]*charge{c})
	delete(g.members, c)
	if len(amounts) == 0 {
		return
	}
	if more, err := append(ledger.Amounts(nil), g.sum...).PlusAll(amounts); err == nil { // otherwise, the ledger has reported the overflow
		g.sum, g.members[c] = more, amounts
	}
}

// regroup charges the PodGroup the unused part of its reserve, after a charge of the group has changed.
func (b *books) regroup(g *group, changed *charge) error {
	charged := len(changed.amounts) > 0
	if isGroup(changed.workload) {
		g.reserve = nil
		if charged {
			g.reserve = changed
		}
	} else {
		g.set(changed, changed.amounts)
	}
	if g.reserve == nil {
		return nil
	}
	return b.Amend(g.reserve.part, g.reserve.amounts.Beyond(g.used(nil), nil))
}

// without returns a view of the ledger without some workloads. The session must not change the ledger while the view is in use.
func (b *books) without(workloads ...[]*framework.Workload) *ledger.Ledger {
	view := b.View()
	gone, groups := map[*framework.Workload]bool{}, map[*group][]*charge{}
	for _, list := range workloads {
		for _, w := range list {
			c := b.charges[w]
			if c == nil || gone[w] {
				continue
			}
			gone[w] = true
			_ = view.Release(c.part, c.holder) // it is charged
			if c.group != nil {
				groups[c.group] = append(groups[c.group], c)
			}
		}
	}
	for g, left := range groups {
		if c := g.reserve; c != nil && !gone[c.workload] {
			_ = view.Release(c.part, c.holder)
			rest := ledger.NewPart(c.amounts.Beyond(g.used(left), nil))
			_ = view.Charge(c.queue, c.holder, ledger.Demand{rest}) // it is at most the reserve, which was charged
		}
	}
	return view
}
