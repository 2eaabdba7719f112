// SPDX-License-Identifier: Apache-2.0

package ledger

import "testing"

func TestWhereADeviceQuotaIsRequiredOnlyListedClassesMayBeUsed(t *testing.T) {
	var dimensions Dimensions
	class := func(name string) Ordinal { return dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: name}) }
	h100, a100 := class("h100"), class("a100")
	memory := dimensions.Ordinal(Dimension{Kind: DeviceCapacity, Name: "h100", Capacity: "memory"})
	gpu := dimensions.Ordinal(Dimension{Kind: Card, Name: "GPU"})
	l, _ := New(&dimensions, nil, []QueueSpec{
		{Name: "root", DeviceQuotaRequired: true},
		{Name: "ml", Parent: "root", Capability: Amounts{{h100, Units(4)}}},
		{Name: "heir", Parent: "ml"},
		{Name: "own", Parent: "ml", Capability: Amounts{{a100, Units(2)}}},
		{Name: "deserving", Parent: "root", Deserved: Amounts{{h100, Units(4)}}, Guarantee: Amounts{{a100, Units(1)}}},
		{Name: "flat", DeviceQuotaRequired: true},
		{Name: "open", Capability: Amounts{{h100, Units(1)}}},
	})
	late := class("late")
	none := func(queue, class string) string {
		return "Queue <" + queue + "> has insufficient <" + class + "> quota: requested <1>, total would be <1>, but capability is <0>"
	}
	for _, c := range []struct {
		queue string
		of    Ordinal
		asked int64
		want  string
	}{
		{"heir", h100, 4, ""},
		{"heir", h100, 5, "Queue <ml> has insufficient <h100> quota: requested <5>, total would be <5>, but capability is <4>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{"heir", a100, 1, none("heir", "a100")},
		{"heir", late, 1, none("heir", "late")},
		{"heir", memory, 100, ""},
		{"heir", gpu, 100, ""},
		{"own", h100, 1, ""},
		{"own", a100, 2, ""},
		{"own", late, 1, none("own", "late")},
		{"deserving", h100, 1, none("deserving", "h100")},
		{"deserving", a100, 1, none("deserving", "a100")},
		{"flat", h100, 1, none("flat", "h100")},
		{"flat", late, 1, none("flat", "late")},
		{"open", a100, 100, ""},
		{"open", late, 100, ""},
	} {
		q, _ := l.Queue(c.queue)
		asked := Amounts{{c.of, Units(c.asked)}}
		refusal, err := l.Fits(q, Demand{NewPart(asked)})
		if got := text(refusal); err != nil || got != c.want {
			t.Errorf("%d of %s in %s: %q (%v), want %q", c.asked, dimensions.Dimension(c.of), c.queue, got, err, c.want)
		}
		refusal, err = l.FitsInqueue(q, asked)
		if got := text(refusal); err != nil || got != c.want {
			t.Errorf("a job for %d of %s in %s: %q (%v), want %q", c.asked, dimensions.Dimension(c.of), c.queue, got, err, c.want)
		}
	}
	q, _ := l.Queue("own")
	either := NewPart(nil, Amounts{{late, Units(1)}}, Amounts{{a100, Units(1)}})
	if refusal, err := l.Fits(q, Demand{either}); refusal != nil || err != nil {
		t.Errorf("of two alternatives, the one that a queue lists is refused, too: %v, %v", refusal, err)
	}
}
