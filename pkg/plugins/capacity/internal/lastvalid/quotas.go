// SPDX-License-Identifier: Apache-2.0

package lastvalid

import (
	"slices"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/quota"
)

// Quotas are the effective device and card quotas of a queue in one session.
type Quotas struct {
	// Queue is the queue as the API server serves it.
	Queue *schedulingv1beta1.Queue
	// Devices are the limits of devices. They are unknown if DevicesErr is set.
	Devices    quota.Limits
	DevicesErr error
	// Cards are the limits of cards. If ListsCards is set, the capability lists all cards that may be used. A queue whose card
	// quota has never been valid may use no card.
	Cards      quota.Limits
	ListsCards bool
	// problems add the problems of these quotas to the problems of a queue.
	problems []func(problems.Problems, string)
}

// Report adds the problems of a queue's quotas to the problems of a session.
func (q *Quotas) Report(found problems.Problems, queue string) {
	for _, add := range q.problems {
		add(found, queue)
	}
}

// quotas returns the effective quotas.
func (k *knownQuotas) quotas(s *schema) Quotas {
	q := Quotas{
		Queue: k.object,
		// Sessions append to the limits. This must not affect the next session.
		Devices: quota.Limits{
			Capability: slices.Clip(k.devices.Capability), Deserved: slices.Clip(k.devices.Deserved), Guarantee: slices.Clip(k.devices.Guarantee),
		},
		DevicesErr: k.devicesErr,
		Cards:      quota.Limits{Capability: k.cards[0], Deserved: k.cards[1], Guarantee: k.cards[2]}, // as in quota.CardAnnotations
		ListsCards: k.cards[0] != nil || k.cardErrs[0] != nil,
	}
	if err := k.devicesErr; err != nil {
		q.Devices = quota.Limits{}
		q.problems = append(q.problems, func(ps problems.Problems, queue string) { ps.QuotaNotRead(queue, err) })
	}
	if err := k.keysErr; err != nil {
		q.problems = append(q.problems, func(ps problems.Problems, queue string) { ps.DeviceKeysNotRead(queue, err) })
	}
	for i, err := range k.cardErrs {
		if err != nil {
			lastHolds := k.cards[i] != nil
			q.problems = append(q.problems, func(ps problems.Problems, queue string) {
				ps.CardsNotRead(queue, quota.CardAnnotations[i], err, lastHolds)
			})
		}
	}
	switch {
	case k.last.DRA != nil && s.lacks():
		// The informer may still have the old queue: after a change of a CRD, the API server ends watches only minutes later.
		q.problems = append(q.problems, problems.Problems.QuotaFieldMissing)
	case k.absence != nil:
		if add := k.absence.problem(s); add != nil {
			q.problems = append(q.problems, add)
		}
	}
	if err := k.writeErr; err != nil {
		q.problems = append(q.problems, func(ps problems.Problems, queue string) { ps.QuotaNotSaved(queue, err) })
	}
	return q
}

// problem returns the problem to report about an absence, nil while the answer is about to come.
func (a *absence) problem(s *schema) func(problems.Problems, string) {
	switch {
	case a.verdict == lost && s.servesSince(a.since):
		return problems.Problems.QuotaBeingRestored
	case a.verdict == unclear:
		return problems.Problems.QuotaRemovalUnclear
	case s.err != nil:
		err := s.err
		return func(ps problems.Problems, queue string) { ps.QuotaRemovalUnconfirmed(queue, err) }
	default:
		return nil
	}
}
