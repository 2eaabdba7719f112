// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// nodeQuota decides which devices of one node the quota allows for a pod, or for several pods of a queue together.
type nodeQuota struct {
	session *Session
	// state has the claims that need devices.
	state *State
	node  *corev1.Node
	// pods are the pods of the state. Others is what pods on other nodes ask for at the same time. Decided has the claims that these pods share with those on
	// other nodes: others has them with their devices.
	pods    []*State
	others  ledger.Demand
	decided ledger.Demand

	// amounts has the amounts of each claim with the accepted devices, and asked all that the pods and the others ask for then.
	amounts []ledger.Amounts
	asked   ledger.Demand
	// refusals counts the sets of devices that were not accepted. refusal says why, nil if the reason is failed.
	refusals int
	refusal  report.Refusal
	// failed says why some devices cannot be counted. It does not matter if other devices are accepted.
	failed error
	// next says that other nodes get devices after this one. Then devices are no more equal if one of them is of use to these nodes.
	next bool
	// charges has what each dra.Charge stands for.
	charges []charge
}

// charge is what devices have in common that are equal to the quota.
type charge struct {
	amounts ledger.Amounts
	// shared describes a device that the next nodes may want.
	shared string
}

func (q *nodeQuota) asQuota() dra.Quota {
	if !q.state.open {
		return dra.Quota{Accepts: func([]resourceapi.AllocationResult) bool { return true }}
	}
	return dra.Quota{Accepts: q.accepts, Charge: q.charge, Possible: q.possible}
}

// accepts reports whether the quota allows devices.
func (q *nodeQuota) accepts(results []resourceapi.AllocationResult) bool {
	accepted := q.check(results)
	if !accepted {
		q.refusals++
	}
	return accepted
}

// check checks the charge of picked devices against the quota.
func (q *nodeQuota) check(results []resourceapi.AllocationResult) bool {
	amounts := make([]ledger.Amounts, len(results))
	for i, claim := range q.state.unallocated {
		would, lacking, err := q.session.Claims.Picked(claim, &results[i])
		if err == nil {
			err = q.session.checkCapacities(q.state, lacking, &results[i])
		}
		if err != nil {
			q.failed = cmp.Or(q.failed, err)
			return false
		}
		if refusal := q.session.refuseUnlisted(q.state, claim, &results[i]); refusal != nil {
			q.refusal = first(q.refusal, refusal)
			return false
		}
		if refusal := q.session.refuseUnknown(q.state, would); refusal != nil {
			q.refusal = first(q.refusal, refusal)
			return false
		}
		amounts[i] = would
	}
	refusal, busy, err := q.fits(amounts)
	switch {
	case refusal != nil:
		q.refusal = first(q.refusal, q.session.refuse(q.state.pod, refusal))
	case busy != nil:
		q.refusal = first(q.refusal, busy)
	}
	q.failed = cmp.Or(q.failed, err)
	q.amounts = amounts
	return refusal == nil && busy == nil && err == nil
}

// fits checks whether the pods fit if the claims have these amounts. busy says why a pod does not fit together with claims that it inherits.
func (q *nodeQuota) fits(amounts []ledger.Amounts) (refused *ledger.Refusal, busy report.Refusal, err error) {
	asked := slices.Clone(q.others)
	for _, pod := range q.pods {
		for _, part := range pod.pod.Checked {
			if !slices.Contains(asked, part) && !slices.Contains(q.decided, part) { // pods may share a claim
				asked = append(asked, part)
			}
		}
		if cards := q.session.CardsOn(pod.pod, q.node); cards != nil {
			asked = append(asked, cards)
		}
	}
	for i, claim := range q.state.unallocated {
		asked[slices.Index(asked, claim.Part)] = ledger.NewPart(amounts[i])
	}
	if refused, err = q.state.books.Fits(q.state.pod.Queue, asked); refused != nil || err != nil {
		return refused, nil, err
	}
	for _, pod := range q.pods {
		if busy := q.session.RefuseJoin(q.state.books, pod.pod, asked); busy != nil {
			return nil, busy, nil
		}
	}
	q.asked = asked
	return nil, nil, nil
}

// charge implements dra.Quota. A device that cannot be counted has no amounts here: accepts decides about it.
func (q *nodeQuota) charge(claim int, only *resourceapi.AllocationResult) dra.Charge {
	amounts, _, err := q.session.Claims.Picked(q.state.unallocated[claim], only)
	if err != nil {
		amounts = nil
	}
	slices.SortFunc(amounts, func(a, b ledger.Entry) int { return cmp.Compare(a.Dimension, b.Dimension) })
	this := charge{amounts: amounts}
	if result := &only.Devices.Results[0]; q.next {
		this.shared = q.session.Catalog.Shared(dra.DeviceID{Driver: result.Driver, Pool: result.Pool, Device: result.Device})
	}
	known := slices.IndexFunc(q.charges, func(c charge) bool { return slices.Equal(c.amounts, amounts) && c.shared == this.shared })
	if known < 0 {
		known, q.charges = len(q.charges), append(q.charges, this)
	}
	return dra.Charge(known)
}

// possible implements dra.Quota. It checks the least amount in each dimension, although there may be no devices with the
// least amounts in all dimensions.
func (q *nodeQuota) possible(slots []dra.Slots) bool {
	least := make([]ledger.Amounts, len(q.state.unallocated))
	for _, slot := range slots {
		var err error
		if least[slot.Claim], err = q.plusLeast(least[slot.Claim], slot); err != nil {
			return true // left to accepts
		}
	}
	refusal, busy, err := q.fits(least)
	return refusal == nil && busy == nil || err != nil
}

// plusLeast adds, in each dimension, the smallest amounts of as many devices as a slot needs.
func (q *nodeQuota) plusLeast(sum ledger.Amounts, slot dra.Slots) (ledger.Amounts, error) {
	var dimensions []ledger.Ordinal
	for _, choice := range slot.Choices {
		for _, e := range q.charges[choice.Charge].amounts {
			if !slices.Contains(dimensions, e.Dimension) {
				dimensions = append(dimensions, e.Dimension)
			}
		}
	}
	choices := slices.Clone(slot.Choices)
	for _, o := range dimensions {
		slices.SortFunc(choices, func(a, b dra.Choice) int {
			return q.charges[a.Charge].amounts.Of(o).Cmp(q.charges[b.Charge].amounts.Of(o))
		})
		rest := slot.Count
		for _, choice := range choices {
			n := min(rest, choice.Devices)
			if choice.Shared {
				n = rest
			}
			rest -= n
			amount, err := q.charges[choice.Charge].amounts.Of(o).Times(int64(n))
			if err == nil && amount.Sign() > 0 {
				sum, err = sum.Plus(o, amount)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return sum, nil
}
