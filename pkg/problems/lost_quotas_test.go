// SPDX-License-Identifier: Apache-2.0

package problems

import (
	"errors"
	"testing"
)

func TestProblemsOfLostQuotas(t *testing.T) {
	denied := errors.New("denied")
	for _, c := range []struct {
		name            string
		add             func(Problems)
		reason, message string
	}{
		{"the CRD lacks the field", func(ps Problems) { ps.QuotaFieldMissing("q") }, QuotaFieldMissingReason,
			"The Queue CRD in the cluster has no field spec.dra, so that the queue's quota of devices cannot be read: apply config/crd/scheduling.volcano.sh_queues.yaml again; until then, its last valid quota holds"},
		{"the CRD lacked the field", func(ps Problems) { ps.QuotaBeingRestored("q") }, QuotaFieldMissingReason,
			"The queue's spec.dra is missing because the Queue CRD in the cluster did not have the field for a time: the scheduler restores it; until then, its last valid quota holds"},
		{"a removal that nobody saw", func(ps Problems) { ps.QuotaRemovalUnclear("q") }, QuotaRemovalUnconfirmedReason,
			"The queue's spec.dra was removed or lost while no scheduler ran, and its last valid quota holds: set spec.dra or, if the queue should have no quota of devices, delete the annotation volcano.sh/last-valid-quota"},
		{"a removal that cannot be confirmed", func(ps Problems) { ps.QuotaRemovalUnconfirmed("q", denied) }, QuotaRemovalUnconfirmedReason,
			"The queue's spec.dra is missing, and its last valid quota holds until the API server confirms that it was removed on purpose: denied: check that the scheduler may create queues"},
		{"a quota that cannot be written", func(ps Problems) { ps.QuotaNotSaved("q", denied) }, QuotaNotSavedReason,
			"The scheduler cannot write the last valid quota to the queue, so that it may be lost when the scheduler restarts: denied: check that the scheduler may patch queues, see config/rbac/scheduler.yaml"},
	} {
		problems := Problems{}
		c.add(problems)
		if got := problems[Problem{Queue: "q", Reason: c.reason}]; len(problems) != 1 || got != c.message {
			t.Errorf("%s: %d problems, message %q, want %q", c.name, len(problems), got, c.message)
		}
	}
}
