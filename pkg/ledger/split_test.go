// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// splits parses words such as 3*2:A|B, which is three shares of two each.
func splits(dimensions *Dimensions, text string) []Split {
	var all []Split
	for word := range strings.FieldsSeq(text) {
		size, names, _ := strings.Cut(word, ":")
		var s Split
		if _, err := fmt.Sscanf(size, "%d*%d", &s.Shares, &s.Each); err != nil {
			panic(err)
		}
		for name := range strings.SplitSeq(names, "|") {
			s.Among = append(s.Among, dimensions.Ordinal(Dimension{Kind: Card, Name: name}))
		}
		all = append(all, s)
	}
	return all
}

// cards parses words such as A=4.
func cards(dimensions *Dimensions, text string) Amounts {
	as := Amounts{}
	for word := range strings.FieldsSeq(text) {
		name, number, _ := strings.Cut(word, "=")
		var n int64
		if _, err := fmt.Sscan(number, &n); err != nil {
			panic(err)
		}
		as = append(as, Entry{dimensions.Ordinal(Dimension{Kind: Card, Name: name}), Units(n)})
	}
	return as
}

func TestFitsInqueueSplit(t *testing.T) {
	for _, c := range []struct{ name, parent, queue, allocated, minimum, splits, want, wantRefusal string }{
		{name: "nothing to divide", queue: "A=1"},
		{name: "the preferred one is filled first", queue: "A=4 B=4", splits: "6*1:A|B", want: "A=4 B=2"},
		{name: "the order decides the preference, not the name", queue: "A=4 B=4", splits: "6*1:B|A", want: "B=4 A=2"},
		{name: "one too many", queue: "A=4 B=4", splits: "9*1:A|B",
			wantRefusal: "Queue <q> has insufficient <A|B> quota: requested <9>, total would be <9>, but capability is <8>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "all splits together, not each alone", queue: "A=4 B=4", splits: "4*1:A|B 5*1:B|A",
			wantRefusal: "Queue <q> has insufficient <A|B> quota: requested <9>, total would be <9>, but capability is <8>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "a group with a choice makes way", queue: "A=4 B=4", splits: "4*1:A|B 4*1:A", want: "A=4 B=4"},
		{name: "through other groups, too", queue: "A=2 B=2 C=2", splits: "2*1:A|B 2*1:B|C 2*1:A", want: "A=2 B=2 C=2"},
		{name: "only those that are short are named", queue: "A=1 B=9 C=9", splits: "2*1:A 3*1:B|C",
			wantRefusal: "Queue <q> has insufficient <A> quota: requested <2>, total would be <2>, but capability is <1>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "what is in use counts", queue: "A=4 B=4", allocated: "A=3 B=4", splits: "2*1:A|B",
			wantRefusal: "Queue <q> has insufficient <A|B> quota: requested <2>, total would be <9>, but capability is <8>"},
		{name: "the minimum of the job counts", queue: "A=4 B=4", minimum: "A=4", splits: "4*1:A|B", want: "B=4"},
		{name: "an ancestor refuses", parent: "A=2 B=1", queue: "A=4 B=4", splits: "4*1:A|B",
			wantRefusal: "Queue <parent> has insufficient <A|B> quota: requested <4>, total would be <4>, but capability is <3>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "queue and ancestor refuse together", parent: "A=1", queue: "B=1", splits: "3*1:A|B",
			wantRefusal: "Queue <q> has insufficient <A|B> quota: requested <3>, total would be <3>, but capability is <2>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "a dimension without a limit", queue: "A=1", splits: "9*1:A|B", want: "A=1 B=8"},
		{name: "shares are not divided", queue: "A=3 B=3", splits: "3*2:A|B",
			wantRefusal: "Queue <q> has insufficient <A|B> quota: requested <6>, total would be <6>, but capability is <6>, which is enough in sum but not for shares of the size that is asked for"},
		{name: "large shares go where small ones need not", queue: "A=4 B=3", splits: "3*1:A|B 1*4:A|B", want: "A=4 B=3"},
		{name: "sizes that go together in one way only", queue: "A=7 B=6", splits: "1*4:A|B 3*3:A|B", want: "A=7 B=6"},
		{name: "as many as there can be", queue: fmt.Sprintf("A=%d B=1", math.MaxInt64-1), splits: fmt.Sprintf("%d*1:A|B", math.MaxInt64), want: fmt.Sprintf("A=%d B=1", math.MaxInt64-1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dimensions := &Dimensions{}
			var specs []QueueSpec
			q := QueueSpec{Name: "q", Capability: cards(dimensions, c.queue)}
			if c.parent != "" {
				specs = append(specs, QueueSpec{Name: "parent", Capability: cards(dimensions, c.parent)})
				q.Parent = "parent"
			}
			l, _ := New(dimensions, nil, append(specs, q))
			id, _ := l.Queue("q")
			if err := l.Charge(id, "pod", Demand{NewPart(cards(dimensions, c.allocated))}); err != nil {
				t.Fatal(err)
			}
			got, refusal, err := l.FitsInqueueSplit(id, cards(dimensions, c.minimum), splits(dimensions, c.splits))
			if err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, e := range got {
				words = append(words, dimensions.Dimension(e.Dimension).Name+"="+e.Amount.String())
			}
			if text := strings.Join(words, " "); text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
			if refusal == nil && c.wantRefusal != "" || refusal != nil && refusal.String() != c.wantRefusal {
				t.Errorf("refusal %v, want %s", refusal, c.wantRefusal)
			}
		})
	}
}

func TestSplitThatOverflows(t *testing.T) {
	dimensions := &Dimensions{}
	l, _ := New(dimensions, nil, []QueueSpec{{Name: "q"}})
	for _, text := range []string{fmt.Sprintf("2*%d:A|B", math.MaxInt64), fmt.Sprintf("%d*1:A|B 1*1:A|B", math.MaxInt64)} {
		if _, _, err := l.FitsInqueueSplit(0, nil, splits(dimensions, text)); err != ErrOverflow {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSplitAgainstBruteForce compares with a search of all divisions.
func TestSplitAgainstBruteForce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	fitted := 0
	for range 20_000 {
		d := &division{rooms: make([]int64, 1+random.IntN(4))}
		for c := range d.rooms {
			d.rooms[c] = random.Int64N(7)
		}
		for each := int64(4); each > 0; each-- {
			for range random.IntN(3) {
				g := group{shares: 1 + random.Int64N(3), each: each}
				g.among = random.Perm(len(d.rooms))[:1+random.IntN(len(d.rooms))]
				d.groups = append(d.groups, g)
			}
		}
		if len(d.groups) == 0 {
			continue
		}
		taken, short := d.divide()
		if want := bruteForce(d.groups, append([]int64(nil), d.rooms...)); (short == nil) != want || (taken != nil) != want {
			t.Fatalf("%+v into %v: %v, short are %v, want that it fits: %t", d.groups, d.rooms, taken, short, want)
		}
		if short == nil {
			fitted++
			checkTaken(t, d, taken)
		}
	}
	if fitted < 1_000 || fitted > 19_000 {
		t.Errorf("%d of 20,000 fit, which is too uneven for a test", fitted)
	}
}

// TestTheSearchIsBoundedByTheSizeOfItsInput uses groups with very different share sizes, in rooms that are hardly
// larger. They have too many divisions to try all.
func TestTheSearchIsBoundedByTheSizeOfItsInput(t *testing.T) {
	for _, size := range []int{4, 16, 64} {
		for _, most := range []int64{3, 1_000, 1_000_000_000} {
			random := rand.New(rand.NewPCG(1, 2))
			d := &division{rooms: make([]int64, size)}
			total := int64(0)
			for i := range size {
				g := group{shares: 1 + random.Int64N(most), each: 1_000_000 - 7*int64(i), among: random.Perm(size)[:size/2]}
				total += g.shares * g.each
				d.groups = append(d.groups, g)
			}
			for c := range d.rooms {
				d.rooms[c] = total/int64(size) + 500
			}
			taken, short := d.divide()
			if short == nil {
				checkTaken(t, d, taken)
			}
			search := d.work
			d.work = 0
			d.flow(0, append([]int64(nil), d.rooms...))
			if oneFlow := d.work; search > d.most+2*oneFlow {
				t.Errorf("%d groups of up to %d shares: the search takes %d steps, at most %d and a flow of %d are allowed", size, most, search, d.most, oneFlow)
			}
		}
	}
}

func checkTaken(t *testing.T, d *division, taken []int64) {
	t.Helper()
	sum := int64(0)
	for c, n := range taken {
		if sum += n; n < 0 || n > d.rooms[c] {
			t.Fatalf("%+v into %v: %v", d.groups, d.rooms, taken)
		}
	}
	for _, g := range d.groups {
		sum -= g.shares * g.each
	}
	if sum != 0 {
		t.Fatalf("%+v into %v: %v is not what was asked for", d.groups, d.rooms, taken)
	}
}

func bruteForce(groups []group, rooms []int64) bool {
	if len(groups) == 0 {
		return true
	}
	g := groups[0]
	if g.shares == 0 {
		return bruteForce(groups[1:], rooms)
	}
	rest := append([]group{{shares: g.shares - 1, each: g.each, among: g.among}}, groups[1:]...)
	for _, c := range g.among {
		if rooms[c] >= g.each {
			rooms[c] -= g.each
			fits := bruteForce(rest, rooms)
			rooms[c] += g.each
			if fits {
				return true
			}
		}
	}
	return false
}

// TestSplitInManyWays checks that the sum decides if an exact answer would take too long.
func TestSplitInManyWays(t *testing.T) {
	d := &division{rooms: []int64{1_000_003, 1_000_003, 1_000_003}}
	for _, each := range []int64{7, 5, 4, 2} {
		d.groups = append(d.groups, group{shares: 750_000 / each, each: each, among: []int{0, 1, 2}})
	}
	if taken, short := d.divide(); short != nil {
		t.Errorf("short are %v", short)
	} else {
		checkTaken(t, d, taken)
	}
}
