// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// searchRoom is the oracle for RoomInqueue: a binary search with FitsInqueueTimes.
func searchRoom(l *Ledger, q QueueID, minimum, each Amounts, most int64) (int64, error) {
	fits := int64(0)
	for fits < most {
		n := most - (most-fits)/2
		refusal, err := l.FitsInqueueTimes(q, minimum, each, n)
		switch {
		case err != nil:
			return 0, err
		case refusal != nil:
			most = n - 1
		default:
			fits = n
		}
	}
	return fits, nil
}

// TestRoomInqueueAgreesWithASearch compares answers about random trees. Limits may be lower than the amounts in use.
// Amounts may be zero, negative or fractional. A search has a well-defined answer only if everything that fits n times
// also fits fewer times. A negative entry of each would break this rule if the minimum does not fit.
func TestRoomInqueueAgreesWithASearch(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	found := map[bool]int{}
	for range 20_000 {
		l, q := randomPath(t, random)
		minimum, each := randomAmounts(random, -2, 12, 3), randomAmounts(random, -1, 5, 2)
		most := random.Int64N(30) - 2
		refusal, err := l.FitsInqueue(q, minimum)
		if err != nil {
			t.Fatal(err)
		}
		for i := range each {
			if refusal != nil && each[i].Amount.Sign() < 0 {
				each[i].Amount = Amount{}
			}
		}
		want, err := searchRoom(l, q, minimum, each, most)
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.RoomInqueue(q, minimum, each, most)
		if err != nil || got != want {
			t.Fatalf("seed %d: %v beside %v, at most %d: room for %d (%v), the search finds %d", seed, each, minimum, most, got, err, want)
		}
		found[got > 0 && got < most]++
		checkAvailable(t, l, q)
	}
	if found[true] < 1_000 {
		t.Errorf("only %d of 20,000 answers are neither none nor all", found[true])
	}
}

// checkAvailable compares Available with FitsInqueue. The available amount fits, and a billionth more does not.
func checkAvailable(t *testing.T, l *Ledger, q QueueID) {
	t.Helper()
	for o := range Ordinal(3) {
		available, err := l.Available(q, o)
		if err != nil {
			t.Fatal(err)
		}
		amount := Units(1_000_000)
		if available.Set {
			amount = available.Amount
		}
		for _, more := range []int64{0, 1} {
			asked, _ := amount.Add(Scaled(more, 1))
			if asked.Sign() <= 0 {
				continue
			}
			refusal, err := l.FitsInqueue(q, Amounts{{o, asked}})
			if want := available.Set && more > 0; err != nil || (refusal != nil) != want {
				t.Fatalf("%s of %d, %s available: %v, %v", asked, o, available.Amount, refusal, err)
			}
		}
	}
}

// randomPath returns a queue with up to three ancestors, random limits and random accounts.
func randomPath(t *testing.T, random *rand.Rand) (*Ledger, QueueID) {
	t.Helper()
	var dimensions Dimensions
	for _, name := range []string{"a", "b", "c"} {
		dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: name})
	}
	var specs []QueueSpec
	names := []string{"0", "1", "2", "3"}[:1+random.IntN(4)]
	for i, name := range names {
		spec := QueueSpec{Name: name, Capability: randomAmounts(random, 0, 40, 1)}
		if i > 0 {
			spec.Parent = names[i-1]
			spec.Guarantee = randomAmounts(random, 0, 4, 1)
		}
		specs = append(specs, spec)
	}
	l, _ := New(&dimensions, nil, specs)
	q := QueueID(random.IntN(len(names)))
	for id := range names {
		if err := l.Charge(QueueID(id), "pod", Demand{NewPart(randomAmounts(random, 0, 12, 1))}); err != nil {
			t.Fatal(err)
		}
		for _, account := range []Account{Inqueue, Elastic} {
			if err := l.Add(QueueID(id), account, randomAmounts(random, 0, 5, 1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l, q
}

// randomAmounts returns fractional amounts between two numbers of units, in some of three dimensions.
func randomAmounts(random *rand.Rand, low, high int64, fraction int64) Amounts {
	var as Amounts
	for _, o := range random.Perm(3)[:random.IntN(4)] {
		as = append(as, Entry{Ordinal(o), Scaled(low*fraction+random.Int64N((high-low)*fraction+1), nano/uint64(fraction))})
	}
	return as
}

// TestRoomInqueueAtTheEdges checks that amounts beyond the range of an Amount do not fit.
func TestRoomInqueueAtTheEdges(t *testing.T) {
	var dimensions Dimensions
	a := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "a"})
	half := Amount{hi: largest.hi / 2}
	for _, c := range []struct {
		name       string
		capability Amounts
		inqueue    Amount
		minimum    Amounts
		want       int64
		wantErr    error
	}{
		{name: "no limit", want: 2},
		{name: "no limit, and a minimum", minimum: Amounts{{a, half}}, want: 1},
		{name: "the largest limit", capability: Amounts{{a, largest}}, want: 2},
		{name: "a minimum of its own size", minimum: Amounts{{a, largest}}, want: 0},
		{name: "a limit, and an account that cannot take the minimum", capability: Amounts{{a, half}}, inqueue: largest, minimum: Amounts{{a, half}}, wantErr: ErrOverflow},
	} {
		l, _ := New(&dimensions, nil, []QueueSpec{{Name: "q", Capability: c.capability}})
		if err := l.Add(0, Inqueue, Amounts{{a, c.inqueue}}); err != nil {
			t.Fatal(err)
		}
		if got, err := l.RoomInqueue(0, c.minimum, Amounts{{a, half}}, 5); got != c.want || !errors.Is(err, c.wantErr) {
			t.Errorf("%s: room for %d (%v), want %d (%v)", c.name, got, err, c.want, c.wantErr)
		}
	}
}
