// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

var h100 = Dimension{Kind: DeviceCount, Name: "nvidia-h100"}

// spec returns a queue with a capability of h100 devices. A negative capability means no limit.
func spec(name, parent string, capability int64) QueueSpec {
	s := QueueSpec{Name: name, Parent: parent}
	if capability >= 0 {
		s.Capability = Amounts{{Dimension: 0, Amount: Units(capability)}}
	}
	return s
}

// book is a ledger whose parts have names.
type book struct {
	*Ledger
	parts map[string]*Part
}

func newLedger(t *testing.T, specs ...QueueSpec) book {
	t.Helper()
	var dimensions Dimensions
	dimensions.Ordinal(h100)
	l, aside := New(&dimensions, nil, specs)
	if len(aside) > 0 {
		t.Fatalf("set aside: %v", aside)
	}
	return book{l, map[string]*Part{}}
}

// part returns the part with this name. A new part asks for n devices.
func (b book) part(name string, n int64) *Part {
	if p, known := b.parts[name]; known {
		return p
	}
	b.parts[name] = NewPart(Amounts{{Dimension: 0, Amount: Units(n)}})
	return b.parts[name]
}

func (b book) id(t *testing.T, name string) QueueID {
	t.Helper()
	id, found := b.Queue(name)
	if !found {
		t.Fatalf("no queue %s", name)
	}
	return id
}

func (b book) mustCharge(t *testing.T, queue string, holder Holder, d ...*Part) {
	t.Helper()
	if err := b.Charge(b.id(t, queue), holder, d); err != nil {
		t.Fatal(err)
	}
}

func (b book) mustRelease(t *testing.T, part string, holder Holder) {
	t.Helper()
	if err := b.Release(b.parts[part], holder); err != nil {
		t.Fatal(err)
	}
}

// expect compares the allocated amounts of queues, written "a=1 b=2".
func (b book) expect(t *testing.T, want string) {
	t.Helper()
	var got []string
	for i := range b.queues {
		got = append(got, fmt.Sprintf("%s=%s", b.queues[i].name, b.Balance(QueueID(i), Allocated, 0)))
	}
	if g := strings.Join(got, " "); g != want {
		t.Fatalf("queues hold %q, want %q", g, want)
	}
}

type request struct {
	part    string
	devices int64
}

func TestFits(t *testing.T) {
	tree := []QueueSpec{spec("root", "", -1), spec("ml", "root", 10), spec("team", "ml", 8), spec("other", "ml", -1)}
	for _, c := range []struct {
		name   string
		held   int64
		queue  string
		demand []request
		want   string
	}{
		{name: "takes the last device", held: 6, queue: "team", demand: []request{{"x", 2}}},
		{name: "refuses one device too many", held: 6, queue: "team", demand: []request{{"x", 3}},
			want: "Queue <team> has insufficient <nvidia-h100> quota: requested <3>, total would be <9>, but capability is <8>"},
		{name: "an ancestor refuses although the queue has no limit", held: 6, queue: "other", demand: []request{{"x", 5}},
			want: "Queue <ml> has insufficient <nvidia-h100> quota: requested <5>, total would be <11>, but capability is <10>"},
		{name: "parts of one demand add up", held: 6, queue: "team", demand: []request{{"x", 2}, {"y", 1}},
			want: "Queue <team> has insufficient <nvidia-h100> quota: requested <3>, total would be <9>, but capability is <8>"},
		{name: "a part that is listed twice counts once", held: 6, queue: "team", demand: []request{{"x", 2}, {"x", 2}}},
		{name: "a part that is charged already costs nothing", held: 8, queue: "team", demand: []request{{"held", 8}}},
		{name: "an empty demand fits a queue that exceeds its limit", held: 9, queue: "team"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLedger(t, tree...)
			l.mustCharge(t, "team", "holder", l.part("held", c.held))
			var demand Demand
			for _, r := range c.demand {
				demand = append(demand, l.part(r.part, r.devices))
			}
			refusal, err := l.Fits(l.id(t, c.queue), demand)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if refusal != nil {
				got = refusal.String()
			}
			if got != c.want {
				t.Errorf("refused with %q, want %q", got, c.want)
			}
		})
	}
}

func TestCapabilityOfZeroForbids(t *testing.T) {
	l := newLedger(t, spec("q", "", 0))
	if refusal, err := l.Fits(l.id(t, "q"), Demand{l.part("x", 1)}); refusal == nil || err != nil {
		t.Fatalf("refused %v, %v", refusal, err)
	}
}

func TestDimensionThatNoQueueLimits(t *testing.T) {
	l := newLedger(t, spec("q", "", 1))
	b200 := l.dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "nvidia-b200"})
	part := NewPart(Amounts{{Dimension: b200, Amount: Units(math.MaxInt64)}})
	if refusal, err := l.Fits(l.id(t, "q"), Demand{part}); refusal != nil || err != nil {
		t.Fatalf("refused %v, %v", refusal, err)
	}
	l.mustCharge(t, "q", "pod", part)
	if got := l.Balance(l.id(t, "q"), Allocated, b200); got != Units(math.MaxInt64) {
		t.Fatalf("allocated %s", got)
	}
}

func TestSharedClaimIsOneCharge(t *testing.T) {
	l := newLedger(t, spec("root", "", -1), spec("a", "root", -1), spec("b", "root", -1))
	l.mustCharge(t, "a", "pod-1", l.part("claim", 4))
	l.mustCharge(t, "b", "pod-2", l.part("claim", 4))
	l.mustCharge(t, "a", "pod-3", l.part("claim", 4))
	l.mustCharge(t, "b", "pod-2", l.part("claim", 4))
	l.expect(t, "root=4 a=4 b=0")
	l.mustRelease(t, "claim", "pod-1")
	l.expect(t, "root=4 a=4 b=0")
	l.mustRelease(t, "claim", "pod-3")
	l.expect(t, "root=4 a=4 b=0")
	l.mustRelease(t, "claim", "pod-2")
	l.expect(t, "root=0 a=0 b=0")
}

func TestReleaseGivesBackWhatWasCharged(t *testing.T) {
	l := newLedger(t, spec("q", "", -1))
	l.mustCharge(t, "q", "pod", l.part("claim", 4))
	l.mustCharge(t, "q", "other", l.part("claim", 7))
	l.expect(t, "q=4")
	l.mustRelease(t, "claim", "other")
	l.mustRelease(t, "claim", "pod")
	l.expect(t, "q=0")
}

func TestDoubleReleaseIsAnError(t *testing.T) {
	l := newLedger(t, spec("q", "", -1))
	l.mustCharge(t, "q", "pod", l.part("claim", 4), l.part("more", 1))
	l.mustRelease(t, "claim", "pod")
	if err := l.Release(l.part("claim", 0), "pod"); !errors.Is(err, ErrNotHeld) {
		t.Fatalf("got %v", err)
	}
	if err := l.Release(l.part("more", 0), "stranger"); !errors.Is(err, ErrNotHeld) {
		t.Fatalf("got %v", err)
	}
	l.expect(t, "q=1")
}

func TestOverflowChangesNothing(t *testing.T) {
	huge := NewPart(Amounts{{Dimension: 0, Amount: largest}})
	l := newLedger(t, spec("root", "", -1), spec("q", "root", -1))
	q := l.id(t, "q")
	if err := l.Charge(q, "pod", Demand{l.part("x", 1), huge}); !errors.Is(err, ErrOverflow) {
		t.Fatalf("got %v", err)
	}
	l.expect(t, "root=0 q=0")
	if l.Charged(l.part("x", 1)) || l.Charged(huge) {
		t.Fatal("a charge was left behind")
	}
	l.mustCharge(t, "q", "pod", l.part("x", 1))
	if err := l.Charge(q, "pod", Demand{huge}); !errors.Is(err, ErrOverflow) {
		t.Fatalf("got %v", err)
	}
	l.expect(t, "root=1 q=1")
}

func TestAmountsPlus(t *testing.T) {
	var as Amounts
	for _, e := range []Entry{{0, Units(1)}, {3, Units(2)}, {0, Units(4)}} {
		var err error
		if as, err = as.Plus(e.Dimension, e.Amount); err != nil {
			t.Fatal(err)
		}
	}
	if as.Of(0) != Units(5) || as.Of(3) != Units(2) || as.Of(1) != (Amount{}) || len(as) != 2 {
		t.Fatalf("got %v", as)
	}
	if _, err := as.Plus(0, largest); !errors.Is(err, ErrOverflow) {
		t.Fatalf("got %v", err)
	}
}

func TestNearest(t *testing.T) {
	l := newLedger(t, spec("root", "", 100), spec("ml", "root", 0), spec("team", "ml", -1))
	team := l.id(t, "team")
	if by, amount, limited := l.Nearest(team, 0); !limited || l.Name(by) != "ml" || amount != (Amount{}) {
		t.Errorf("limited %t by %d to %s", limited, by, amount)
	}
	other := l.dimensions.Ordinal(Dimension{Kind: Resource, Name: "cpu"})
	if by, _, limited := l.Nearest(team, other); limited {
		t.Errorf("limited by %d", by)
	}
	if !l.Limits(team, DeviceCount) || l.Limits(team, DeviceCapacity) {
		t.Error("Limits does not tell kinds apart")
	}
}
