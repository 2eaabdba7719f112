// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"testing"
)

func TestHeldCannotBeChanged(t *testing.T) {
	var dimensions Dimensions
	device := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "h100"})
	l, _ := New(&dimensions, nil, []QueueSpec{{Name: "q"}})
	two := Amounts{{device, Units(2)}}
	part := NewPart(two)
	if err := l.Retain(0, "pod", part); err != nil {
		t.Fatal(err)
	}
	held := l.Held()
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"a charge", held.Charge(0, "pod", Demand{part}), ErrHeld},
		{"a promise", held.Pipeline(0, "pod", Demand{part}), ErrHeld},
		{"a release", held.Release(part, "pod"), ErrHeld},
		{"a release of what is held", held.ReleaseHeld("pod", Demand{part}), ErrHeld},
		{"a releasing holder comes", held.Retain(0, "pod", part), ErrHeld},
		{"a releasing holder goes", held.Forget(part), ErrHeld},
		{"a charge of a view", held.View().Charge(0, "pod", Demand{part}), ErrHeld},
		{"a part is amended", held.Amend(part, nil), ErrView},
		{"amounts are added", held.Add(0, Inqueue, two), ErrView},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.err, c.want)
		}
	}
	if got := held.Balance(0, Allocated, device); got != Units(2) || l.Balance(0, Allocated, device).Sign() != 0 {
		t.Errorf("%s are held, want 2", got)
	}
}

func TestAPartThatIsPromisedIsNotAllocated(t *testing.T) {
	var dimensions Dimensions
	device := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "h100"})
	three := Amounts{{device, Units(3)}}
	l, _ := New(&dimensions, nil, []QueueSpec{{Name: "q", Capability: Amounts{{device, Units(4)}}, Deserved: three}})
	part := NewPart(three)
	if err := l.Pipeline(0, "pod", Demand{part}); err != nil {
		t.Fatal(err)
	}
	if got := l.Balance(0, Allocated, device); got.Sign() != 0 || l.Share(0) != 0 {
		t.Errorf("%s are allocated, a share of %g, want none", got, l.Share(0))
	}
	if got := l.Balance(0, Pipelined, device); got != Units(3) {
		t.Errorf("%s are promised, want 3", got)
	}
	if refusal, err := l.Fits(0, Demand{NewPart(three)}); refusal == nil || err != nil {
		t.Errorf("somebody else gets what is promised: %v", err)
	}
	if err := l.Charge(0, "other", Demand{part}); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(part, "pod"); err != nil {
		t.Fatal(err)
	}
	if got := l.Balance(0, Allocated, device); got != Units(3) || l.Balance(0, Pipelined, device).Sign() != 0 {
		t.Errorf("%s are allocated after the part went to a pod that holds it, want 3", got)
	}
}
