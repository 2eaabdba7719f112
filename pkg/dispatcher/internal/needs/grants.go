// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// ToGrant returns amounts in the form of a grant: without zeros, sorted by name.
func ToGrant(dimensions *ledger.Dimensions, amounts ledger.Amounts) []binding.Amount {
	list := make([]binding.Amount, 0, len(amounts))
	for _, e := range amounts {
		if e.Amount.Sign() > 0 {
			list = append(list, binding.Amount{Dimension: dimensions.Dimension(e.Dimension), Amount: e.Amount})
		}
	}
	sortByName(list)
	return list
}

func sortByName(list []binding.Amount) {
	slices.SortFunc(list, func(a, b binding.Amount) int {
		return cmp.Or(strings.Compare(a.Dimension.String(), b.Dimension.String()), cmp.Compare(a.Dimension.Kind, b.Dimension.Kind),
			strings.Compare(a.Dimension.Name, b.Dimension.Name))
	})
}

// FromGrant returns the amounts of a grant. Only the dispatcher writes grants, so all dimensions count.
func FromGrant(dimensions *ledger.Dimensions, granted []binding.Amount) ledger.Amounts {
	amounts := make(ledger.Amounts, 0, len(granted))
	for _, a := range granted {
		amounts = append(amounts, ledger.Entry{Dimension: dimensions.Ordinal(a.Dimension), Amount: a.Amount})
	}
	return amounts
}

// Forbidden returns an error if a workload asks for something that is not an amount and that the queues on the path to the root forbid:
// unlisted cards if a queue restricts cards, or devices with a limited capacity for which the claim states no amount.
func Forbidden(dimensions *ledger.Dimensions, needs framework.Needs, way []framework.QueueLimits, cardQuotaRequired bool) error {
	if len(needs.Unlisted) > 0 && (cardQuotaRequired || slices.ContainsFunc(way, func(l framework.QueueLimits) bool { return l.ListsCards })) {
		return fmt.Errorf("it asks for %s, which its queue does not list: use a card that is listed", needs.Unlisted[0].Dimension)
	}
	for _, o := range needs.Unnamed {
		limits := func(l framework.QueueLimits) bool {
			return slices.ContainsFunc(l.Capability, func(e ledger.Entry) bool { return e.Dimension == o })
		}
		if d := dimensions.Dimension(o); slices.ContainsFunc(way, limits) {
			return fmt.Errorf("a claim asks for devices of DeviceClass %s without saying how much %s of it, which its queue limits: write capacity.requests[%s] into its request",
				d.Name, d.Capacity, d.Capacity)
		}
	}
	return nil
}

// OneCopy returns the most that one copy of a workload with a grant may have. The grant may be nil.
func OneCopy(dimensions *ledger.Dimensions, grant *binding.Grant) ledger.Amounts {
	if grant == nil {
		return nil
	}
	return FromGrant(dimensions, grant.OneCopy())
}

// Charged returns what a workload with a grant is charged: what was granted, or all that it needs. While only its placement waits, it needs as many copies as
// were granted. While it is held, it is charged as much again as one copy for each cluster that it leaves.
func Charged(dimensions *ledger.Dimensions, w *framework.Workload) ledger.Amounts {
	grant := w.State.Grant
	granted := FromGrant(dimensions, grant.Amounts)
	if w.Err == nil && w.State.Hold == nil {
		return granted.Max(w.Needs.All)
	}
	one := OneCopy(dimensions, grant)
	if w.Err == nil && !w.State.Hold.Hides() {
		one = one.Max(w.Needs.Copy)
		if all, err := one.Times(max(1, grant.Copies)); err == nil { // otherwise, so much is never granted
			granted = granted.Max(all)
		}
	}
	copies := int64(len(w.Leaves()))
	if w.MovesAgain() {
		copies = int64(len(binding.Clusters(w.Binding)))
	}
	if copies == 0 {
		return granted
	}
	if len(w.Binding.Spec.Clusters) > 0 {
		copies += max(1, min(grant.Copies, int64(len(binding.Kept(w.Binding)))))
	}
	all, err := one.Times(copies)
	if err != nil {
		return granted // more than can be counted was never granted
	}
	return granted.Max(all)
}

// Exceeds returns by how much a workload exceeds its grant, sorted by name. If it does not, Exceeds returns by how much one copy exceeds the grant's
// copy, or one pod the grant's pod, because clusters may make more of these later. It returns nothing if the grant is enough.
func Exceeds(dimensions *ledger.Dimensions, needs framework.Needs, grant *binding.Grant) []binding.Amount {
	var granted ledger.Amounts
	if grant != nil {
		granted = FromGrant(dimensions, grant.Amounts)
	}
	more := ToGrant(dimensions, needs.Stays.Beyond(granted, nil))
	if len(more) == 0 {
		more = ToGrant(dimensions, needs.Copy.Beyond(OneCopy(dimensions, grant), nil))
	}
	if len(more) == 0 && grant != nil && len(grant.Pod) > 0 {
		more = ToGrant(dimensions, needs.Pod.Beyond(FromGrant(dimensions, grant.Pod), nil))
	}
	return more
}
