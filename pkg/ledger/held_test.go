// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"strings"
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

// TestWhatIsReleasedOnNodesIsNotCountedTwice checks a queue that only the cluster's total limits. It does not wait for releasing holders,
// because nodes do not give away their resources.
func TestWhatIsReleasedOnNodesIsNotCountedTwice(t *testing.T) {
	const none = 0
	for name, c := range map[string]struct {
		root, capability, guaranteed, promised int64
		asked                                  int64
		want                                   string
	}{
		"the cluster limits":                                {none, none, none, none, 6, ""},
		"the cluster limits what is charged":                {none, none, none, none, 7, "capability is <10>"},
		"a capability limits":                               {none, 9, none, none, 6, "total would be <13>, but capability is <9>"},
		"a capability limits, and what leaves is promised":  {none, 9, none, 3, 2, ""},
		"a capability limits, and less is promised":         {none, 9, none, 1, 3, "total would be <10>, but capability is <9>"},
		"a capability limits, and more is promised":         {none, 9, none, 4, 2, "total would be <10>, but capability is <9>"},
		"a capability limits, and just as much is promised": {none, 9, none, 4, 1, ""},
		"a capability beyond what the cluster has":          {none, 20, none, none, 6, ""},
		"a guarantee of others limits":                      {none, none, 1, none, 6, "total would be <13>, but capability is <10>, of which <1> is guaranteed to others"},
		"a guarantee of others leaves enough beside it":     {none, none, 1, none, 2, ""},
		"the capability of root takes the place of it":      {10, none, none, none, 4, "Queue <root> has insufficient <cpu> quota: requested <4>, total would be <11>, but capability is <10>"},
		"the capability of root leaves enough":              {10, none, none, none, 3, ""},
		"a capability is as much as the cluster has":        {none, 10, none, none, 4, "Queue <q> has insufficient <cpu> quota: requested <4>, total would be <11>, but capability is <10>"},
		"the cluster has less than a capability":            {none, 12, none, none, 6, "Queue <q> has insufficient <cpu> quota: requested <6>, total would be <13>, but capability is <12>"},
		"the cluster has less, and there is enough":         {none, 12, none, none, 5, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var dimensions Dimensions
			cpu := dimensions.Ordinal(Dimension{Kind: Resource, Name: "cpu"})
			amounts := func(n int64) (as Amounts) {
				if n > 0 {
					as = Amounts{{cpu, Units(n)}}
				}
				return as
			}
			l, _ := New(&dimensions, amounts(10), []QueueSpec{
				{Name: "root", Capability: amounts(c.root)}, {Name: "q", Parent: "root", Capability: amounts(c.capability)}, {Name: "other", Parent: "root", Guarantee: amounts(c.guaranteed)},
			})
			if err := errors.Join(l.Charge(1, "runs", Demand{NewPart(amounts(4))}), l.Retain(1, "leaves", NewPart(amounts(3))),
				l.Pipeline(1, "is promised", Demand{NewPart(amounts(c.promised))})); err != nil {
				t.Fatal(err)
			}
			refusal, err := l.Held().Fits(1, Demand{NewPart(amounts(c.asked))})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(refusal); c.want == "" && refusal != nil || !strings.Contains(got, c.want) {
				t.Errorf("%s, want %q", got, c.want)
			}
		})
	}
}
