// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"slices"

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
	// members are the charges of the workloads that name the PodGroup.
	members []*charge
}

// groupOf returns the group of a workload, nil if it has none.
func (b *books) groupOf(w *framework.Workload, queue ledger.QueueID) *group {
	name := groupName(w)
	if name == "" {
		return nil
	}
	key := groupKey{queue, w.Binding.Namespace, name}
	if b.groups[key] == nil {
		b.groups[key] = &group{}
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
func (g *group) used(gone map[*framework.Workload]bool) ledger.Amounts {
	var sum ledger.Amounts
	for _, member := range g.members {
		if gone[member.workload] {
			continue
		}
		more, err := append(ledger.Amounts(nil), sum...).PlusAll(member.amounts)
		if err != nil {
			continue // the ledger has reported the overflow
		}
		sum = more
	}
	return sum
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
		g.members = slices.DeleteFunc(g.members, func(c *charge) bool { return c == changed })
		if charged {
			g.members = append(g.members, changed)
		}
	}
	if g.reserve == nil {
		return nil
	}
	return b.Amend(g.reserve.part, g.reserve.amounts.Beyond(g.used(nil), nil))
}

// without returns a view of the ledger without some workloads. The session must not change the ledger while the view is in use.
func (b *books) without(workloads ...[]*framework.Workload) *ledger.Ledger {
	view := b.View()
	gone, groups := map[*framework.Workload]bool{}, map[*group]bool{}
	for _, list := range workloads {
		for _, w := range list {
			c := b.charges[w]
			if c == nil || gone[w] {
				continue
			}
			gone[w] = true
			_ = view.Release(c.part, c.holder) // it is charged
			if c.group != nil {
				groups[c.group] = true
			}
		}
	}
	for g := range groups {
		if c := g.reserve; c != nil && !gone[c.workload] {
			_ = view.Release(c.part, c.holder)
			rest := ledger.NewPart(c.amounts.Beyond(g.used(gone), nil))
			_ = view.Charge(c.queue, c.holder, ledger.Demand{rest}) // it is at most the reserve, which was charged
		}
	}
	return view
}
