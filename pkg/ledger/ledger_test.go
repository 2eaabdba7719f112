package ledger

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

var h100 = Dimension{Kind: DeviceCount, Name: "nvidia-h100"}

// spec is a queue with a capability of h100 devices; a negative one is no limit.
func spec(name, parent string, capability int64) QueueSpec {
	s := QueueSpec{Name: name, Parent: parent}
	if capability >= 0 {
		s.Capability = Amounts{{Dimension: 0, Amount: Units(capability)}}
	}
	return s
}

func newLedger(t *testing.T, specs ...QueueSpec) *Ledger {
	t.Helper()
	var dimensions Dimensions
	dimensions.Ordinal(h100)
	l, aside := New(&dimensions, specs)
	if len(aside) > 0 {
		t.Fatalf("set aside: %v", aside)
	}
	return l
}

// devices is a part of n devices under a key.
func devices(key Key, n int64) Part {
	return Part{Key: key, Amounts: Amounts{{Dimension: 0, Amount: Units(n)}}}
}

func (l *Ledger) id(t *testing.T, name string) QueueID {
	t.Helper()
	id, found := l.Queue(name)
	if !found {
		t.Fatalf("no queue %s", name)
	}
	return id
}

func (l *Ledger) mustCharge(t *testing.T, queue string, holder Holder, d ...Part) {
	t.Helper()
	if err := l.Charge(l.id(t, queue), holder, d); err != nil {
		t.Fatal(err)
	}
}

func (l *Ledger) mustRelease(t *testing.T, key Key, holder Holder) {
	t.Helper()
	if err := l.Release(key, holder); err != nil {
		t.Fatal(err)
	}
}

// expect compares what queues hold, written "a=1 b=2".
func (l *Ledger) expect(t *testing.T, want string) {
	t.Helper()
	var got []string
	for i := range l.queues {
		got = append(got, fmt.Sprintf("%s=%s", l.queues[i].name, l.Allocated(QueueID(i), 0)))
	}
	if g := strings.Join(got, " "); g != want {
		t.Fatalf("queues hold %q, want %q", g, want)
	}
}

func TestFits(t *testing.T) {
	tree := []QueueSpec{spec("root", "", -1), spec("ml", "root", 10), spec("team", "ml", 8), spec("other", "ml", -1)}
	for _, c := range []struct {
		name   string
		held   int64
		queue  string
		demand Demand
		want   string
	}{
		{name: "takes the last device", held: 6, queue: "team", demand: Demand{devices("x", 2)}},
		{name: "refuses one device too many", held: 6, queue: "team", demand: Demand{devices("x", 3)},
			want: "Queue <team> has insufficient <nvidia-h100> quota: requested <3>, total would be <9>, but capability is <8>"},
		{name: "an ancestor refuses although the queue has no limit", held: 6, queue: "other", demand: Demand{devices("x", 5)},
			want: "Queue <ml> has insufficient <nvidia-h100> quota: requested <5>, total would be <11>, but capability is <10>"},
		{name: "parts of one demand add up", held: 6, queue: "team", demand: Demand{devices("x", 2), devices("y", 1)},
			want: "Queue <team> has insufficient <nvidia-h100> quota: requested <3>, total would be <9>, but capability is <8>"},
		{name: "a part that is named twice counts once", held: 6, queue: "team", demand: Demand{devices("x", 2), devices("x", 2)}},
		{name: "a part that is charged already costs nothing", held: 8, queue: "team", demand: Demand{devices("held", 8)}},
		{name: "nothing fits even a queue that is over its limit", held: 9, queue: "team"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLedger(t, tree...)
			l.mustCharge(t, "team", "holder", devices("held", c.held))
			refusal, fits, err := l.Fits(l.id(t, c.queue), c.demand)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if !fits {
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
	if _, fits, err := l.Fits(l.id(t, "q"), Demand{devices("x", 1)}); fits || err != nil {
		t.Fatalf("fits %t, %v", fits, err)
	}
}

func TestDimensionThatNoQueueLimits(t *testing.T) {
	l := newLedger(t, spec("q", "", 1))
	b200 := l.dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "nvidia-b200"})
	part := Part{Key: "x", Amounts: Amounts{{Dimension: b200, Amount: Units(math.MaxInt64)}}}
	if _, fits, err := l.Fits(l.id(t, "q"), Demand{part}); !fits || err != nil {
		t.Fatalf("fits %t, %v", fits, err)
	}
	l.mustCharge(t, "q", "pod", part)
	if got := l.Allocated(l.id(t, "q"), b200); got != Units(math.MaxInt64) {
		t.Fatalf("allocated %s", got)
	}
}

func TestSharedClaimIsOneCharge(t *testing.T) {
	l := newLedger(t, spec("root", "", -1), spec("a", "root", -1), spec("b", "root", -1))
	l.mustCharge(t, "a", "pod-1", devices("claim", 4))
	l.mustCharge(t, "b", "pod-2", devices("claim", 4))
	l.mustCharge(t, "a", "pod-3", devices("claim", 4))
	l.mustCharge(t, "b", "pod-2", devices("claim", 4))
	l.expect(t, "root=4 a=4 b=0")
	l.mustRelease(t, "claim", "pod-1")
	l.expect(t, "root=4 a=0 b=4")
	l.mustRelease(t, "claim", "pod-3")
	l.expect(t, "root=4 a=0 b=4")
	l.mustRelease(t, "claim", "pod-2")
	l.expect(t, "root=0 a=0 b=0")
}

func TestReleaseGivesBackWhatWasCharged(t *testing.T) {
	l := newLedger(t, spec("q", "", -1))
	l.mustCharge(t, "q", "pod", devices("claim", 4))
	l.mustCharge(t, "q", "other", devices("claim", 7))
	l.expect(t, "q=4")
	l.mustRelease(t, "claim", "other")
	l.mustRelease(t, "claim", "pod")
	l.expect(t, "q=0")
}

func TestDoubleReleaseIsAnError(t *testing.T) {
	l := newLedger(t, spec("q", "", -1))
	l.mustCharge(t, "q", "pod", devices("claim", 4), devices("more", 1))
	l.mustRelease(t, "claim", "pod")
	if err := l.Release("claim", "pod"); !errors.Is(err, ErrNotHeld) {
		t.Fatalf("got %v", err)
	}
	if err := l.Release("more", "stranger"); !errors.Is(err, ErrNotHeld) {
		t.Fatalf("got %v", err)
	}
	l.expect(t, "q=1")
}

func TestOverflowChangesNothing(t *testing.T) {
	largest := Amount{hi: math.MaxInt64, lo: math.MaxUint64}
	huge := func(key Key) Part { return Part{Key: key, Amounts: Amounts{{Dimension: 0, Amount: largest}}} }
	l := newLedger(t, spec("root", "", -1), spec("q", "root", -1))
	q := l.id(t, "q")
	if err := l.Charge(q, "pod", Demand{devices("x", 1), huge("y")}); !errors.Is(err, ErrOverflow) {
		t.Fatalf("got %v", err)
	}
	l.expect(t, "root=0 q=0")
	if l.Charged("x") || l.Charged("y") {
		t.Fatal("a charge was left behind")
	}
	l.mustCharge(t, "q", "pod", devices("x", 1))
	if err := l.Charge(q, "pod", Demand{huge("y")}); !errors.Is(err, ErrOverflow) {
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
	if _, err := as.Plus(0, Amount{hi: math.MaxInt64, lo: math.MaxUint64}); !errors.Is(err, ErrOverflow) {
		t.Fatalf("got %v", err)
	}
}

func TestLimitedBy(t *testing.T) {
	l := newLedger(t, spec("root", "", 100), spec("ml", "root", 0), spec("team", "ml", -1))
	team := l.id(t, "team")
	if name, limited := l.LimitedBy(team, 0); name != "ml" || !limited {
		t.Errorf("limited by %q, %t", name, limited)
	}
	other := l.dimensions.Ordinal(Dimension{Kind: Resource, Name: "cpu"})
	if name, limited := l.LimitedBy(team, other); limited {
		t.Errorf("limited by %q", name)
	}
	if !l.Limits(team, DeviceCount) || l.Limits(team, DeviceCapacity) {
		t.Error("Limits does not tell kinds apart")
	}
}

func TestRefusalUsesUnitsOfPeople(t *testing.T) {
	for _, c := range []struct {
		dimension Dimension
		limit     int64
		want      string
	}{
		{h100, 1024, "<1024>"},
		{Dimension{Kind: Resource, Name: "memory"}, 80 << 30, "<80GiB>"},
		{Dimension{Kind: DeviceCapacity, Name: "gpu", Capacity: "memory"}, 1536 << 20, "<1.5GiB>"},
		{Dimension{Kind: DeviceCapacity, Name: "gpu", Capacity: "memory"}, 1<<30 + 1<<20, "<1025MiB>"},
		{Dimension{Kind: DeviceCapacity, Name: "gpu", Capacity: "cores"}, 800, "<800>"},
		{Dimension{Kind: Resource, Name: "memory"}, 1001, "<1001>"},
		{Dimension{Kind: Resource, Name: "memory"}, 0, "<0>"},
	} {
		if got := (Refusal{Dimension: c.dimension, Limit: Units(c.limit)}).String(); !strings.HasSuffix(got, "capability is "+c.want) {
			t.Errorf("%s: %q, want %s at the end", c.dimension, got, c.want)
		}
	}
}
