// SPDX-License-Identifier: Apache-2.0

package problems

import (
	"errors"
	"testing"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/quota"
)

func TestProblems(t *testing.T) {
	const quotaAnnotation, deserved, guarantee = schedulingv1beta1.CardQuotaAnnotation, schedulingv1beta1.CardDeservedAnnotation, schedulingv1beta1.CardGuaranteeAnnotation
	gpu := ledger.Dimension{Kind: ledger.Resource, Name: "nvidia.com/gpu"}
	wrong, denied := errors.New("it is wrong"), errors.New("denied")
	for _, c := range []struct {
		name            string
		add             func(Problems)
		reason, message string
	}{
		{"jobs in a queue that has children", func(ps Problems) { ps.NotLeaf("q"); ps.NotLeaf("q") }, QueueNotLeafReason,
			"The queue has jobs and is the parent of other queues, so that the scheduler does not schedule these jobs: move the jobs to a queue that has no children"},
		{"no place in the hierarchy", func(ps Problems) { ps.Misplaced("q", "its parent is missing") }, QueueMisplacedReason, "The queue takes no pods: its parent is missing"},
		{"a quota that is invalid", func(ps Problems) { ps.QuotaNotRead("q", errors.New("spec.dra is wrong")) }, QuotaNotReadReason, "spec.dra is wrong"},
		{"a card quota that was never valid", func(ps Problems) { ps.CardsNotRead("q", quotaAnnotation, wrong, false) }, QuotaNotReadReason,
			"it is wrong; until then, none of its pods may use a card"},
		{"a card quota that was valid before", func(ps Problems) { ps.CardsNotRead("q", quotaAnnotation, wrong, true) }, QuotaNotReadReason,
			"it is wrong; until then, its last valid quota holds"},
		{"cards that are deserved, not valid now", func(ps Problems) { ps.CardsNotRead("q", deserved, wrong, true) }, QuotaNotReadReason,
			"it is wrong; until then, its last valid value holds"},
		{"cards that are deserved, and cards that are guaranteed, never valid", func(ps Problems) {
			ps.CardsNotRead("q", deserved, wrong, false)
			ps.CardsNotRead("q", guarantee, wrong, false)
		}, QuotaNotReadReason,
			"it is wrong; until then, the queue deserves no cards beyond its guarantee; besides, it is wrong; until then, the queue is guaranteed no cards"},
		{"both quotas are invalid", func(ps Problems) {
			ps.QuotaNotRead("q", errors.New("spec.dra is wrong"))
			ps.CardsNotRead("q", quotaAnnotation, wrong, true)
		}, QuotaNotReadReason, "spec.dra is wrong; besides, it is wrong; until then, its last valid quota holds"},
		{"guarantees, of which the first is reported", func(ps Problems) {
			ps.GuaranteeNotCovered("q", ledger.Uncovered{Dimension: gpu, Sum: ledger.Units(8), Limit: ledger.Units(4)})
			ps.GuaranteeNotCovered("q", ledger.Uncovered{Dimension: gpu, Sum: ledger.Units(9), Limit: ledger.Units(4)})
		}, GuaranteeNotCoveredReason,
			"The queue's guarantee of nvidia.com/gpu cannot be kept: the queue and its siblings are guaranteed <8>, but there is only <4>: lower guarantees or add nodes"},
		{"DeviceClasses among resources", func(ps Problems) { ps.ClassesInCapability("q", []string{"h100", "a100"}) }, ClassInCapabilityReason,
			"The queue limits <a100>, <h100> among its resources, where names of DeviceClasses limit nothing: list them in spec.dra"},
		{"DeviceClasses that do not exist", func(ps Problems) { ps.UnknownDeviceClasses("q", []string{"h1oo"}) }, UnknownDeviceClassReason,
			"The queue's quota lists <h1oo>, but there is no such DeviceClass: correct the name, or create the DeviceClass"},
		{"many cards that do not exist", func(ps Problems) { ps.UnknownCards("q", quotaAnnotation, []string{"g", "f", "e", "d", "c", "b", "a"}) }, UnknownCardReason,
			"The queue's annotation volcano.sh/card.quota lists <a>, <b>, <c>, <d>, <e>, and 2 more, but no node has such a card, and no DeviceClass names it: correct the name, or add nodes"},
		{"cards that are guaranteed and do not exist", func(ps Problems) { ps.UnknownCards("q", guarantee, []string{"a"}) }, UnknownCardReason,
			"The queue's annotation volcano.sh/card.guarantee lists <a>, but no node has such a card, and no DeviceClass names it: correct the name, or add nodes"},
		{"cards that the queue itself does not list", func(ps Problems) { ps.CardsNotListed("q", "q", deserved, []string{"b", "a"}) }, CardNotListedReason,
			"The queue's annotation volcano.sh/card.deserved lists <a>, <b>, but its annotation volcano.sh/card.quota does not, so that its pods may not use them: list them there, too, or remove them"},
		{"cards that a queue above does not list", func(ps Problems) { ps.CardsNotListed("q", "ml", guarantee, []string{"a"}) }, CardNotListedReason,
			"The queue's annotation volcano.sh/card.guarantee lists <a>, but the card quota of queue <ml> above it does not, so that its pods may not use them: list them there, too, or remove them"},
		{"cards where a card quota is required and there is none", func(ps Problems) { ps.CardsNotListed("q", "", guarantee, []string{"a"}) }, CardNotListedReason,
			"The queue's annotation volcano.sh/card.guarantee lists <a>, but a card quota is required, so that its pods may not use them: list them in the annotation volcano.sh/card.quota, too, or remove them"},
		{"more cards guaranteed than deserved", func(ps Problems) {
			ps.ContradictoryCards("q", ledger.Dimension{Kind: ledger.Card, Name: "a"}, quota.Contradiction{More: guarantee, Number: ledger.Units(4), Bound: deserved, Limit: ledger.Units(2)})
		}, ContradictoryCardsReason,
			"The queue's annotation volcano.sh/card.guarantee has <4> of <a>, but its annotation volcano.sh/card.deserved has <2>: lower the one, or raise the other"},
		{"an annotation with another name", func(ps Problems) { ps.UnknownAnnotation("q", "card-quota", "volcano.sh/card.quota") }, UnknownAnnotationReason,
			"The queue's annotation card-quota has no effect: rename it to volcano.sh/card.quota if that is meant"},
		{"capabilities above those of the parent, of which the first is reported", func(ps Problems) {
			ps.LimitAboveParent("q", "p", ledger.AboveParent{Dimension: gpu, Capability: ledger.Units(8), Limit: ledger.Units(4)})
			ps.LimitAboveParent("q", "p", ledger.AboveParent{Dimension: gpu, Capability: ledger.Units(9), Limit: ledger.Units(4)})
		}, LimitAboveParentReason,
			"The queue's capability of nvidia.com/gpu is <8>, but that of queue <p> above it is <4>, which holds: lower the one, or raise the other"},
		{"a class that cannot be evaluated", func(ps Problems) { ps.InvalidDeviceClass("q", "h100", errors.New("syntax error")) }, InvalidDeviceClassReason,
			"The queue limits class h100, but the scheduler cannot evaluate the selectors of the class, so that no device matches it: correct the DeviceClass: syntax error"},
		{"classes that share devices", func(ps Problems) {
			ps.ClassesOverlap("q", []string{Overlap{"h100", []string{"any", "gpu"}}.String(), Overlap{"a100", []string{"gpu"}}.String()}, false)
		}, ClassesOverlapReason,
			"The queue limits classes whose devices other classes have as well: devices of class h100 belong to any, gpu, too; devices of class a100 belong to gpu, too. " +
				"A device counts only for the class that a claim asks for, so that claims can get round the limit through another class: set the argument deviceAccounting to matching, or limit the other classes, too"},
		{"many classes that share devices", func(ps Problems) { ps.ClassesOverlap("q", []string{"A", "B", "C", "D", "E", "F", "G"}, false) }, ClassesOverlapReason,
			"The queue limits classes whose devices other classes have as well: A; B; C; D; E; and so on for 2 more classes. " +
				"A device counts only for the class that a claim asks for, so that claims can get round the limit through another class: set the argument deviceAccounting to matching, or limit the other classes, too"},
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
