// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"testing"
)

func TestAmend(t *testing.T) {
	var dimensions Dimensions
	device := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "h100"})
	l, _ := New(&dimensions, nil, []QueueSpec{{Name: "root"}, {Name: "q", Parent: "root"}})
	root, _ := l.Queue("root")
	q, _ := l.Queue("q")
	part := NewPart(Amounts{{device, Units(1)}})

	if err := l.Amend(part, Amounts{{device, Units(2)}}); err != nil || l.Balance(q, Allocated, device) != (Amount{}) {
		t.Fatalf("a part that is not charged: %v, %s allocated", err, l.Balance(q, Allocated, device))
	}
	if err := l.Charge(q, "pod", Demand{part}); err != nil {
		t.Fatal(err)
	}
	if err := l.Amend(part, Amounts{{device, Units(5)}}); err != nil {
		t.Fatal(err)
	}
	for _, queue := range []QueueID{q, root} {
		if got := l.Balance(queue, Allocated, device); got != Units(5) {
			t.Errorf("queue %s has %s, want 5", l.Name(queue), got)
		}
	}
	rest, err := largest.Sub(Units(4))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Charge(root, "other", Demand{NewPart(Amounts{{device, mustSub(t, rest, Units(5))}})}); err != nil {
		t.Fatal(err)
	}
	if err := l.Amend(part, Amounts{{device, Units(50)}}); !errors.Is(err, ErrOverflow) {
		t.Errorf("the error is %v", err)
	}
	if got := l.Balance(q, Allocated, device); got != Units(5) || part.Of(device) != Units(5) {
		t.Errorf("after an error the queue has %s, the part %s, want 5", got, part.Of(device))
	}
	if err := l.Release(part, "pod"); err != nil || l.Balance(q, Allocated, device) != (Amount{}) {
		t.Errorf("released: %v, %s allocated", err, l.Balance(q, Allocated, device))
	}
}

func mustSub(t *testing.T, a, b Amount) Amount {
	t.Helper()
	d, err := a.Sub(b)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
