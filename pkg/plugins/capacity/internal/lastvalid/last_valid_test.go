// SPDX-License-Identifier: Apache-2.0

package lastvalid

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
)

const deserved, guarantee = schedulingv1beta1.CardDeservedAnnotation, schedulingv1beta1.CardGuaranteeAnnotation

func TestTheLastValidQuotasAreKeptOnTheQueue(t *testing.T) {
	f := newFixture(t)
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"no quota", func() {}, ""},
		{"a quota of devices", func() { f.setDevices(8) }, `{"uid":"1","generation":2,"dra":{"capability":{"h100":{"count":8}}}}`},
		{"and of cards", func() { f.setCards(`{"A": 1}`) }, `{"uid":"1","generation":2,"dra":{"capability":{"h100":{"count":8}}},"cards":"{\"A\": 1}"}`},
		{"an invalid quota of cards", func() { f.setCards(`A`) }, `{"uid":"1","generation":2,"dra":{"capability":{"h100":{"count":8}}},"cards":"{\"A\": 1}"}`},
		{"another field of the spec", func() { f.setParent("other") }, `{"uid":"1","generation":3,"dra":{"capability":{"h100":{"count":8}}},"cards":"{\"A\": 1}"}`},
		{"an invalid quota of devices", func() { f.setDevices(-1) }, `{"uid":"1","generation":3,"dra":{"capability":{"h100":{"count":8}}},"cards":"{\"A\": 1}"}`},
		{"a valid one again", func() { f.setDevices(2) }, `{"uid":"1","generation":5,"dra":{"capability":{"h100":{"count":2}}},"cards":"{\"A\": 1}"}`},
		{"an annotation that somebody changed", func() { f.annotated(schedulingv1beta1.LastValidQuotaAnnotation, "{}") }, `{"uid":"1","generation":5,"dra":{"capability":{"h100":{"count":2}}},"cards":"{\"A\": 1}"}`},
		{"no devices", f.removeDevices, `{"uid":"1","generation":6,"cards":"{\"A\": 1}"}`},
		{"cards that are deserved", func() { f.annotated(deserved, `{"A":1}`) }, `{"uid":"1","generation":6,"cards":"{\"A\": 1}","cardsDeserved":"{\"A\":1}"}`},
		{"no card quota", func() { f.setCards("") }, `{"uid":"1","generation":6,"cardsDeserved":"{\"A\":1}"}`},
		{"cards that are guaranteed", func() { f.annotated(guarantee, `{"A":1}`) }, `{"uid":"1","generation":6,"cardsDeserved":"{\"A\":1}","cardsGuarantee":"{\"A\":1}"}`},
		{"no valid ones", func() { f.annotated(deserved, "A"); f.annotated(guarantee, "A") }, `{"uid":"1","generation":6,"cardsDeserved":"{\"A\":1}","cardsGuarantee":"{\"A\":1}"}`},
		{"none that is deserved", func() { f.annotated(deserved, "") }, `{"uid":"1","generation":6,"cardsGuarantee":"{\"A\":1}"}`},
		{"none that is guaranteed", func() { f.annotated(guarantee, "") }, ""},
	} {
		step.do()
		f.settle()
		f.expectLastValid(step.name, step.want)
	}
}

// TestTheLastValidQuotasAreNotWrittenUnderACRDWithoutTheField: otherwise, the API server would drop spec.dra permanently.
func TestTheLastValidQuotasAreNotWrittenUnderACRDWithoutTheField(t *testing.T) {
	f := withQuota(t)
	f.setDevices(9)
	f.session()
	f.stock = true // the session has read the queue, and no probe has noticed
	f.background()
	f.expectStored("with a quota of devices", 9)

	f.setCards(`{"A": 1}`)
	f.settle()
	f.expectLastValid("under the other CRD", `{"uid":"1","generation":2,"dra":{"capability":{"h100":{"count":8}}}}`)
}

// TestCardQuotasThatCannotBeRead: the last valid quota applies. A queue that never had one may use no card.
func TestCardQuotasThatCannotBeRead(t *testing.T) {
	const wrong = `is wrong at character 1: it is not an object; write a JSON object of card names and whole numbers, such as {"NVIDIA-H200": 8}; until then, none of its pods may use a card`
	f := newFixture(t)
	for _, step := range []struct {
		name, quota, want, problem string
		restart                    bool
	}{
		{name: "never a valid one", quota: "8 H100", problem: wrong},
		{name: "a valid one", quota: `{"H100": 8}`, want: "H100=8"},
		{name: "an invalid one", quota: `{"H100": -8}`, want: "H100=8", problem: "-8 for H100 is not a whole number from 0 to 9223372036854775807"},
		{name: "still an invalid one", quota: `{"H100": 8`, want: "H100=8", problem: "until then, its last valid quota holds"},
		{name: "the scheduler restarts", quota: `{"H100": 8`, want: "H100=8", problem: "until then, its last valid quota holds", restart: true},
		{name: "a removal"},
		{name: "and then an invalid one", quota: `[]`, problem: "none of its pods may use a card"},
	} {
		if f.setCards(step.quota); step.restart {
			f.restart()
		}
		f.settle()
		quotas, found := f.session()
		got := f.texts(quotas.Cards.Capability)
		if strings.Join(got, " ") != step.want || quotas.ListsCards != (step.quota != "") {
			t.Errorf("%s: %v, a list: %t", step.name, got, quotas.ListsCards)
		}
		f.expectProblem(step.name, found, step.problem)
	}
}

// TestCardsThatAQueueIsOwedAndThatCannotBeRead: the last valid number applies. A queue that never had one deserves none.
func TestCardsThatAQueueIsOwedAndThatCannotBeRead(t *testing.T) {
	f := newFixture(t)
	for _, step := range []struct {
		name                  string
		deserved, guaranteed  string
		want, problem, unlike string
		restart               bool
	}{
		{name: "never valid ones", deserved: " ", guaranteed: " ", problem: "until then, the queue deserves no cards beyond its guarantee; besides, its annotation volcano.sh/card.guarantee is wrong", unlike: "last valid"},
		{name: "valid ones", deserved: `{"A": 4}`, guaranteed: `{"A": 2}`, want: "deserved A=4 guarantee A=2"},
		{name: "one is invalid, the other changes", deserved: `{"A": 4`, guaranteed: `{"A": 1}`, want: "deserved A=4 guarantee A=1", problem: "its annotation volcano.sh/card.deserved is wrong", unlike: "card.guarantee"},
		{name: "both are invalid", deserved: `{"A|B": 4}`, guaranteed: `{"A": -1}`, want: "deserved A=4 guarantee A=1", problem: `its annotation volcano.sh/card.deserved lists "A|B", which names several cards: give each card a number of its own; until then, its last valid value holds`},
		{name: "the scheduler restarts", deserved: `{"A|B": 4}`, guaranteed: `{"A": -1}`, want: "deserved A=4 guarantee A=1", problem: "its annotation volcano.sh/card.guarantee is wrong at character 8", restart: true},
		{name: "a removal"},
	} {
		f.annotated(deserved, step.deserved)
		if f.annotated(guarantee, step.guaranteed); step.restart {
			f.restart()
		}
		f.settle()
		quotas, found := f.session()
		if quotas.ListsCards {
			t.Errorf("%s: the cards of a queue without a card quota are limited", step.name)
		}
		var reasons []string
		if step.problem != "" {
			reasons = []string{problems.QuotaNotReadReason}
		}
		f.expect(step.name, step.want, reasons...)
		message := found[problems.Problem{Queue: "q", Reason: problems.QuotaNotReadReason}]
		if !strings.Contains(message, step.problem) || step.unlike != "" && strings.Contains(message, step.unlike) {
			t.Errorf("%s: problem %q, want %q", step.name, message, step.problem)
		}
	}
}

// TestTheRecordOfAnOlderVersionIsRead: it has no deserved or guaranteed cards.
func TestTheRecordOfAnOlderVersionIsRead(t *testing.T) {
	f := newFixture(t)
	f.annotated(schedulingv1beta1.LastValidQuotaAnnotation, `{"uid":"1","generation":1,"cards":"{\"A\": 4}"}`)
	f.setCards("invalid")
	f.expect("after an upgrade", "A=4", problems.QuotaNotReadReason)
}

// TestOtherMetadataIsNotWrittenUnderACRDWithoutTheField: this would also drop spec.dra permanently.
func TestOtherMetadataIsNotWrittenUnderACRDWithoutTheField(t *testing.T) {
	f := withQuota(t)
	f.stock = true // no probe has noticed
	err := f.PatchMetadata(t.Context(), "q", []byte(`{"metadata":{"resourceVersion":"`+f.stored().ResourceVersion+`","annotations":{"a":"b"}}}`))
	if !errors.Is(err, errNotServed) {
		t.Errorf("error %v", err)
	}
	f.expectStored("right after the upgrade", 8)
	f.settle()
	f.probe(t.Context())
	if err := f.PatchMetadata(t.Context(), "q", []byte(`{}`)); !errors.Is(err, errNotServed) {
		t.Errorf("error %v after a probe", err)
	}
}

// TestQuotasAreTheSameInOtherDimensions: a scheduler begins with new dimensions when most of the old ones are obsolete.
func TestQuotasAreTheSameInOtherDimensions(t *testing.T) {
	f := withQuota(t)
	f.setCards(`{"A": 4}`)
	f.annotated(deserved, `{"A": 2}`)
	f.annotated(guarantee, `{"A": 1}`)
	const all = "h100=8 A=4 deserved A=2 guarantee A=1"
	f.expect("before", all)
	f.dimensions = &ledger.Dimensions{}
	f.dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "first"})
	f.expect("in other dimensions", all)
	f.setCards("invalid")
	f.expect("when the quota of cards is invalid", all, problems.QuotaNotReadReason)
	f.dimensions = &ledger.Dimensions{}
	f.expect("in other dimensions once more", all, problems.QuotaNotReadReason)
}

// TestDeviceKeysThatCannotBeRead: the last valid values apply. A queue that never had any may use no device.
func TestDeviceKeysThatCannotBeRead(t *testing.T) {
	f := newFixture(t)
	for _, step := range []struct {
		name, key, quantity, want, problem string
		restart, noDevices                 bool
	}{
		{name: "never a valid one", key: "deviceclass/h100", quantity: "-1", problem: "its spec.capability[deviceclass/h100] is -1: set it to a whole number of devices, zero or more", noDevices: true},
		{name: "a valid one", key: "deviceclass/h100", quantity: "8", want: "h100=8"},
		{name: "an invalid one", key: "deviceclass/", quantity: "8", want: "h100=8", problem: "names no DeviceClass"},
		{name: "the scheduler restarts", key: "deviceclass/", quantity: "8", want: "h100=8", problem: "until then, the last valid values of such keys hold", restart: true},
		{name: "a removal"},
	} {
		f.edit(func(q *schedulingv1beta1.Queue) {
			q.Spec.Capability = nil
			if step.key != "" {
				q.Spec.Capability = corev1.ResourceList{corev1.ResourceName(step.key): resource.MustParse(step.quantity)}
			}
		})
		if step.restart {
			f.restart()
		}
		f.settle()
		quotas, found := f.session()
		got := f.texts(quotas.Devices.Capability)
		if strings.Join(got, " ") != step.want || (quotas.DevicesErr != nil) != step.noDevices {
			t.Errorf("%s: %v (%v), want %s", step.name, got, quotas.DevicesErr, step.want)
		}
		f.expectProblem(step.name, found, step.problem)
	}
}

func TestAQuotaOfAnySizeIsRecordedAndRestoredExactly(t *testing.T) {
	for _, written := range []string{"0", "1n", "100m", "1.5", "9E", "8Ei", "9223372036854775808", "1e19", "10E", "1e21", "1000E", "100000000000000000000000", "1e28"} {
		want := resource.MustParse(written)
		capacity := func() schedulingv1beta1.DeviceQuotas {
			return schedulingv1beta1.DeviceQuotas{"h100": {Count: 8, Capacity: schedulingv1beta1.DeviceCapacities{"memory": want.DeepCopy()}}}
		}
		f := newFixture(t)
		f.edit(func(q *schedulingv1beta1.Queue) {
			q.Spec.DRA = &schedulingv1beta1.DRAQuota{Capability: capacity(), Deserved: capacity(), Guarantee: capacity()}
			q.Spec.Capability = corev1.ResourceList{"memory.deviceclass/a100": want.DeepCopy()}
		})
		f.settle()
		last, err := readLastValid(f.stored().Annotations[schedulingv1beta1.LastValidQuotaAnnotation])
		if err != nil || last.DRA == nil || last.Keys == nil {
			t.Fatalf("%s: %+v, %v", written, last, err)
		}
		key := last.Keys.Capability["memory.deviceclass/a100"]
		if key.Cmp(want) != 0 {
			t.Errorf("%s in a key is recorded as %s", written, key.AsDec())
		}
		f.expectExact("recorded", last.DRA, want)
		f.stock = true
		f.settle()
		f.writeStatus() // the CRD without spec.dra drops it
		f.restart()
		f.settle()
		f.repair()
		f.expectExact("restored", f.stored().Spec.DRA, want)
	}
}

func (f *fixture) expectExact(step string, dra *schedulingv1beta1.DRAQuota, want resource.Quantity) {
	f.Helper()
	if dra == nil {
		f.Fatalf("%s is not %s", &want, step)
	}
	for _, quotas := range []schedulingv1beta1.DeviceQuotas{dra.Capability, dra.Deserved, dra.Guarantee} {
		if got := quotas["h100"].Capacity["memory"]; got.Cmp(want) != 0 {
			f.Errorf("%s is %s as %s", want.AsDec(), step, got.AsDec())
		}
	}
}
