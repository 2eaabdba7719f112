// SPDX-License-Identifier: Apache-2.0

package refusals_test

import (
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/refusals"
)

func TestRefusalsNameTheQueueAndTheRemedy(t *testing.T) {
	exceeded := func(kind ledger.Kind, name string) *ledger.Refusal {
		return &ledger.Refusal{
			Queue: "q", Dimension: ledger.Dimension{Kind: kind, Name: name},
			Requested: ledger.Units(2), WouldBe: ledger.Units(5), Limit: ledger.Units(4),
		}
	}
	const numbers = "requested <2>, total would be <5>, but capability is <4>"
	for _, c := range []struct {
		refusal interface {
			Reason() string
			Message() string
		}
		reason, message string
	}{
		{refusals.Quota{Refusal: exceeded(ledger.Resource, "cpu")}, "InsufficientCPUQuota", "Queue <q> has insufficient <cpu> quota: " + numbers},
		{refusals.Quota{Refusal: exceeded(ledger.Card, "H20")}, "InsufficientScalarQuota", "Queue <q> has insufficient <H20> quota: " + numbers},
		{refusals.Quota{Refusal: exceeded(ledger.Card, "H20"), NoCardQuota: true}, "EmptyQueueCapability", "Queue <q> has insufficient <H20> quota: " + numbers + "; the queue has no card quota: list the card in its annotation volcano.sh/card.quota"},
		{refusals.Quota{Refusal: exceeded(ledger.DeviceCount, "h20"), NoDeviceQuota: true}, "EmptyQueueCapability", "Queue <q> has insufficient <h20> quota: " + numbers + "; " + refusals.ListClass},
		{refusals.QueueMissing{Queue: "q"}, "QueueNotFound", "Queue <q> does not exist: create the queue, or submit the job to another one"},
		{refusals.QueueNotOpen{Queue: "q"}, "", "Queue <q> takes no pods yet: Volcano's controllers have not opened it"},
		{refusals.QueueNotOpen{Queue: "q", State: "Closing"}, "Unschedulable", `Queue <q> takes no pods: its state is "Closing", not Open`},
		{refusals.QueueMisplaced{Queue: "q", Why: "its parent is missing"}, "Unschedulable", "Queue <q> takes no pods: its parent is missing"},
		{refusals.QueueHasChildren{Queue: "q"}, "Unschedulable", "Queue <q> takes no pods, because other queues are below it: use one of those"},
	} {
		if c.refusal.Reason() != c.reason || c.refusal.Message() != c.message {
			t.Errorf("%T: got %s %q, want %s %q", c.refusal, c.refusal.Reason(), c.refusal.Message(), c.reason, c.message)
		}
	}
}
