// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestInvariantsOfLimits checks the comment of the type quota on random trees.
func TestInvariantsOfLimits(t *testing.T) {
	const seed = 11
	random := rand.New(rand.NewPCG(seed, seed))
	seen := map[string]int{}
	for range 3_000 {
		var dimensions Dimensions
		for _, d := range []Dimension{{Kind: Resource, Name: "cpu"}, {Kind: Card, Name: "A"}, {Kind: Card, Name: "B"}, {Kind: DeviceCount, Name: "h100"}} {
			dimensions.Ordinal(d)
		}
		specs := randomTree(random, dimensions.Len())
		var total Amounts
		if random.IntN(3) > 0 {
			total = Amounts{{0, Units(random.Int64N(30))}}
		}
		l, aside := New(&dimensions, total, specs)
		if len(aside) > 0 {
			t.Fatal(aside)
		}
		dimensions.Ordinal(Dimension{Kind: Card, Name: "late"})
		dimensions.Ordinal(Dimension{Kind: Resource, Name: "late"})
		all := map[string]*QueueSpec{}
		for i := range specs {
			all[specs[i].Name] = &specs[i]
		}
		for i := range specs {
			q, _ := l.Queue(specs[i].Name)
			invariants := invariants{t: t, l: l, q: q, spec: &specs[i], specs: all, seen: seen}
			for o := range Ordinal(dimensions.Len()) {
				invariants.check(o)
			}
			invariants.checkQueue()
		}
	}
	for _, kind := range []string{
		"capability", "left by the parent", "reserved for children", "no limit", "guaranteed to others", "not covered", "forbidden", "free",
		"not binding", "deserved is cut", "deserved is the guarantee", "guarantee is cut",
	} {
		if seen[kind] < 20 {
			t.Errorf("%q occurred %d times, which is too rare for a test", kind, seen[kind])
		}
	}
}

func randomTree(random *rand.Rand, dimensions int) []QueueSpec {
	amounts := func(limit int64) Amounts {
		var as Amounts
		for _, o := range random.Perm(dimensions)[:random.IntN(dimensions)] {
			as = append(as, Entry{Ordinal(o), Units(random.Int64N(limit))})
		}
		return as
	}
	specs := make([]QueueSpec, 1+random.IntN(8))
	for i := range specs {
		specs[i] = QueueSpec{Name: fmt.Sprint(i), Capability: amounts(25), Deserved: amounts(15), Guarantee: amounts(6), ListsCards: random.IntN(4) == 0}
		if i > 0 && random.IntN(5) > 0 {
			specs[i].Parent = fmt.Sprint(random.IntN(i))
		}
		if random.IntN(3) == 0 {
			specs[i].Capability = nil
		}
		if random.IntN(3) == 0 {
			specs[i].Guarantee = nil
		}
	}
	return specs
}

type invariants struct {
	t    *testing.T
	l    *Ledger
	q    QueueID
	spec *QueueSpec
	// specs has all queues.
	specs map[string]*QueueSpec
	// seen counts the cases that occurred.
	seen map[string]int
}

func (v *invariants) hold(holds bool, o Ordinal, invariant string) {
	v.t.Helper()
	if !holds {
		v.t.Fatalf("queue %s, %s: it does not hold that %s: %+v, %s", v.spec.Name, v.l.Dimension(o), invariant, v.l.queues[v.q].quota, v.l.Describe())
	}
}

func (v *invariants) check(o Ordinal) {
	l, q := v.l, v.q
	forbidden := l.forbidden(q, o)
	parent, above := l.queues[q].parent, v.above(o)
	capability, limit, binding := l.Capability(q, o), l.Limit(q, o), *l.limitAt(q, o, withAncestors)
	written := limitsOf(v.spec.Capability)
	v.hold(capability == at(written, o), o, "the capability is what was written")

	if int(o) < len(l.queues[q].limit) {
		v.checkLimit(o, forbidden, above, capability, limit)
	}
	if binding != limit && int(o) < len(l.queues[q].limit) {
		v.seen["not binding"]++
		v.hold(!binding.Set && parent != none && limit == l.Limit(parent, o), o, "a limit that does not bind equals the parent's")
	}
	v.hold(!forbidden || binding == nothing, o, "a card that is not on the list has a limit of zero")
	v.hold(!l.queues[q].free || !binding.Set, o, "a free queue has no binding limit")
	if binding.Set {
		origin, guaranteed := l.origin(q, o)
		rest, err := origin.Sub(guaranteed)
		v.hold(err == nil && rest == binding.Amount, o, "a limit is its origin without what is guaranteed to others")
		v.hold(guaranteed.Sign() >= 0, o, "what is guaranteed is not negative")
		v.count("guaranteed to others", guaranteed.Sign() > 0)
	}
	v.checkDeserved(o, limit)
}

// checkLimit compares the limit with the smallest bound.
func (v *invariants) checkLimit(o Ordinal, forbidden bool, above, capability, limit Limit) {
	v.count("forbidden", forbidden)
	if forbidden {
		v.hold(limit == nothing, o, "a card that is not on the list has a limit of zero")
		return
	}
	reserved, own := v.reserved(o), v.reservedFor(v.q, o)
	left := Limit{}
	if above.Set {
		left = AtMost(mustAdd(v.t, clipped(mustSub(v.t, above.Amount, reserved)), own))
		if most := larger(above.Amount, v.guarantee(v.q, o)); left.Amount.Cmp(most) > 0 {
			left = AtMost(most)
		}
	}
	want := left
	if capability.Set && !left.exceededBy(capability.Amount) {
		want = capability
	}
	v.hold(limit == want, o, "the limit is the capability or what the parent leaves, whichever is less")
	v.count("capability", limit.Set && limit == capability)
	v.count("left by the parent", limit.Set && limit != capability)
	v.count("no limit", !limit.Set)
	if above.exceededBy(limit.Amount) {
		v.count("not covered", true)
		v.hold(above.exceededBy(reserved) && v.reported(o), o, "a limit exceeds the parent's only if a guarantee is reported as not covered")
	}
}

func (v *invariants) checkDeserved(o Ordinal, limit Limit) {
	written, guarantee, deserved := at(limitsOf(v.spec.Deserved), o), v.guarantee(v.q, o), v.l.Deserved(v.q, o)
	v.hold(deserved.Set == (written.Set || guarantee.Sign() > 0), o, "what a queue deserves is set where it is written or guaranteed")
	if !deserved.Set {
		return
	}
	v.hold(deserved.Amount.Cmp(guarantee) >= 0, o, "a queue deserves what it is guaranteed")
	v.hold(!limit.exceededBy(deserved.Amount) || deserved.Amount == guarantee, o, "a queue deserves at most its limit or its guarantee")
	v.hold(!written.exceededBy(deserved.Amount) || deserved.Amount == guarantee, o, "a queue deserves at most what is written or its guarantee")
	v.count("deserved is cut", written.Set && deserved.Amount.Cmp(written.Amount) < 0)
	v.count("deserved is the guarantee", guarantee.Sign() > 0 && deserved.Amount == guarantee && deserved != written)
	v.count("guarantee is cut", guarantee.Cmp(v.spec.Guarantee.Of(o)) < 0)
}

// checkQueue checks the invariants over all dimensions together.
func (v *invariants) checkQueue() {
	l, want := v.l, none
	for id := v.q; id != none && want == none; id = l.queues[id].parent {
		if v.specs[l.Name(id)].ListsCards {
			want = id
		}
	}
	v.hold(l.queues[v.q].lister == want && l.ListsCards(v.q) == (want != none), 0, "the lister is the nearest queue that lists cards")
	v.count("free", l.queues[v.q].free)
}

func (v *invariants) count(kind string, seen bool) {
	if seen {
		v.seen[kind]++
	}
}

// guarantee returns the effective guarantee. It is zero where the queue must not use the dimension, and at most the capability.
func (v *invariants) guarantee(q QueueID, o Ordinal) Amount {
	written := v.specs[v.l.Name(q)].Guarantee.Of(o)
	if v.l.forbidden(q, o) {
		return Amount{}
	}
	if capability := v.l.Capability(q, o); capability.exceededBy(written) {
		return capability.Amount
	}
	return written
}

// above returns the limit of the parent, or the cluster's total.
func (v *invariants) above(o Ordinal) Limit {
	if parent := v.l.queues[v.q].parent; parent != none {
		return v.l.Limit(parent, o)
	}
	if v.l.Dimension(o).Kind != Resource || v.l.total == nil {
		return Limit{}
	}
	return AtMost(v.l.total.Of(o))
}

// reserved returns the amount reserved for the queue and its siblings.
func (v *invariants) reserved(o Ordinal) Amount {
	sum := Amount{}
	for id := range v.l.queues {
		if v.l.queues[id].parent == v.l.queues[v.q].parent {
			sum = mustAdd(v.t, sum, v.reservedFor(QueueID(id), o))
		}
	}
	return sum
}

// reservedFor returns the amount that siblings of a queue must leave.
func (v *invariants) reservedFor(q QueueID, o Ordinal) Amount {
	children, guarantee := Amount{}, v.guarantee(q, o)
	for id := range v.l.queues {
		if v.l.queues[id].parent == q {
			children = mustAdd(v.t, children, v.reservedFor(QueueID(id), o))
		}
	}
	if capability := v.l.Capability(q, o); capability.exceededBy(children) {
		children = capability.Amount
	}
	v.count("reserved for children", children.Cmp(guarantee) > 0)
	return larger(children, guarantee)
}

// reported reports whether a guarantee of the queue or a sibling is reported as uncovered.
func (v *invariants) reported(o Ordinal) bool {
	for _, u := range v.l.Uncovered() {
		if v.l.queues[u.Queue].parent == v.l.queues[v.q].parent && u.Dimension == v.l.Dimension(o) {
			return true
		}
	}
	return false
}

func clipped(a Amount) Amount {
	if a.Sign() < 0 {
		return Amount{}
	}
	return a
}

func mustAdd(t *testing.T, a, b Amount) Amount {
	t.Helper()
	sum, err := a.Add(b)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
