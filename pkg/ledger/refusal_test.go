// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"math"
	"strings"
	"testing"
)

// TestRefusalNamesTheNumberThatRefuses checks that a refusal states which part of a capability is guaranteed to others.
func TestRefusalNamesTheNumberThatRefuses(t *testing.T) {
	var dimensions Dimensions
	cpu := dimensions.Ordinal(Dimension{Kind: Resource, Name: "cpu"})
	gpu := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "gpu"})
	of := func(o Ordinal, n int64) Amounts { return Amounts{{o, Units(n)}} }
	type specs = []QueueSpec
	for _, c := range []struct {
		name  string
		total Amounts
		specs specs
		asked Amounts
		want  string
	}{
		{name: "the queue's own capability", specs: specs{{Name: "q", Capability: of(gpu, 8)}}, asked: of(gpu, 9),
			want: "Queue <q> has insufficient <gpu> quota: requested <9>, total would be <9>, but capability is <8>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "the parent's capability, a guarantee of a sibling", asked: of(gpu, 5),
			specs: specs{{Name: "root", Capability: of(gpu, 8)}, {Name: "q", Parent: "root"}, {Name: "other", Parent: "root", Guarantee: of(gpu, 4)}},
			want:  "Queue <q> has insufficient <gpu> quota: requested <5>, total would be <5>, but capability is <8>, of which <4> is guaranteed to others; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "the cluster's total, a guarantee of a sibling", total: of(cpu, 8), asked: of(cpu, 5),
			specs: specs{{Name: "q"}, {Name: "other", Guarantee: of(cpu, 4)}},
			want:  "Queue <q> has insufficient <cpu> quota: requested <5>, total would be <5>, but capability is <8>, of which <4> is guaranteed to others; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "guarantees at several levels add up", asked: of(gpu, 11),
			specs: specs{
				{Name: "root", Capability: of(gpu, 16)},
				{Name: "ml", Parent: "root"}, {Name: "elsewhere", Parent: "root", Guarantee: of(gpu, 4)},
				{Name: "q", Parent: "ml"}, {Name: "beside", Parent: "ml", Guarantee: of(gpu, 2)},
			},
			want: "Queue <q> has insufficient <gpu> quota: requested <11>, total would be <11>, but capability is <16>, of which <6> is guaranteed to others; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "a capability between the guarantees", asked: of(gpu, 9),
			specs: specs{
				{Name: "root", Capability: of(gpu, 16)},
				{Name: "ml", Parent: "root", Capability: of(gpu, 10)}, {Name: "elsewhere", Parent: "root", Guarantee: of(gpu, 4)},
				{Name: "q", Parent: "ml"}, {Name: "beside", Parent: "ml", Guarantee: of(gpu, 2)},
			},
			want: "Queue <q> has insufficient <gpu> quota: requested <9>, total would be <9>, but capability is <10>, of which <2> is guaranteed to others; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "the queue's own guarantee is not taken from it", asked: of(gpu, 7),
			specs: specs{{Name: "root", Capability: of(gpu, 8)}, {Name: "q", Parent: "root", Guarantee: of(gpu, 2)}, {Name: "other", Parent: "root", Guarantee: of(gpu, 2)}},
			want:  "Queue <q> has insufficient <gpu> quota: requested <7>, total would be <7>, but capability is <8>, of which <2> is guaranteed to others; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "a guarantee that is not covered", asked: of(gpu, 21),
			specs: specs{{Name: "root", Capability: of(gpu, 10)}, {Name: "q", Parent: "root", Guarantee: of(gpu, 20)}},
			want:  "Queue <q> has insufficient <gpu> quota: requested <21>, total would be <21>, but capability is <20>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "a capability of zero", specs: specs{{Name: "root", Capability: of(gpu, 8)}, {Name: "q", Parent: "root", Capability: of(gpu, 0)}}, asked: of(gpu, 1),
			want: "Queue <q> has insufficient <gpu> quota: requested <1>, total would be <1>, but capability is <0>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, aside := New(&dimensions, c.total, c.specs)
			q, found := l.Queue("q")
			if len(aside) > 0 || !found {
				t.Fatal(aside)
			}
			refusal, err := l.Fits(q, Demand{NewPart(c.asked)})
			if got := text(refusal); err != nil || got != c.want {
				t.Errorf("a demand: %q (%v), want %q", got, err, c.want)
			}
			refusal, err = l.FitsInqueue(q, c.asked)
			if got := text(refusal); err != nil || got != c.want {
				t.Errorf("a job: %q (%v), want %q", got, err, c.want)
			}
			e := c.asked[0]
			_, refusal, err = l.FitsInqueueSplit(q, nil, []Split{{Shares: e.Amount.Shares(1, math.MaxInt64), Each: 1, Among: []Ordinal{e.Dimension}}})
			if got := text(refusal); err != nil || got != c.want {
				t.Errorf("a job with a split: %q (%v), want %q", got, err, c.want)
			}
		})
	}
}

// TestRefusalOfAJobSaysWhatWasLetIn checks that a refusal mentions jobs whose pods do not run yet, if they cause it.
func TestRefusalOfAJobSaysWhatWasLetIn(t *testing.T) {
	for _, c := range []struct {
		name                        string
		allocated, inqueue, elastic int64
		want                        string
	}{
		{"pods hold everything", 8, 0, 0, "total would be <9>, but"},
		{"pods hold more than they need", 9, 0, 1, "total would be <9>, but"},
		{"jobs are admitted and none of their pods runs", 0, 8, 0, "total would be <9> (<0> allocated, <8> let in), but"},
		{"a job runs and another is admitted", 3, 5, 0, "total would be <9> (<3> allocated, <5> let in), but"},
		{"some could be taken back", 6, 4, 2, "total would be <9> (<6> allocated, <4> let in, less <2> that jobs hold beyond their minimum), but"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dimensions Dimensions
			gpu := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "gpu"})
			of := func(n int64) Amounts { return Amounts{{gpu, Units(n)}} }
			l, _ := New(&dimensions, nil, []QueueSpec{{Name: "q", Capability: of(8)}})
			q, _ := l.Queue("q")
			if err := l.Charge(q, "holder", Demand{NewPart(of(c.allocated))}); err != nil {
				t.Fatal(err)
			}
			for account, n := range map[Account]int64{Inqueue: c.inqueue, Elastic: c.elastic} {
				if err := l.Add(q, account, of(n)); err != nil {
					t.Fatal(err)
				}
			}
			want := "Queue <q> has insufficient <gpu> quota: requested <1>, " + c.want + " capability is <8>"
			refusal, err := l.FitsInqueue(q, of(1))
			if got := text(refusal); err != nil || got != want {
				t.Errorf("a job: %q (%v), want %q", got, err, want)
			}
			_, refusal, err = l.FitsInqueueSplit(q, nil, []Split{{Shares: 1, Each: 1, Among: []Ordinal{gpu}}})
			if got := text(refusal); err != nil || got != want {
				t.Errorf("a job with a split: %q (%v), want %q", got, err, want)
			}
		})
	}
}

// TestRefusalOfASplitBesideGuarantees checks the same for sums over several dimensions.
func TestRefusalOfASplitBesideGuarantees(t *testing.T) {
	for _, c := range []struct{ name, parent, queue, guarantee, splits, want string }{
		{name: "one queue refuses", parent: "A=4 B=4", guarantee: "A=1 B=2", splits: "6*1:A|B",
			want: "requested <6>, total would be <6>, but capability is <8>, of which <3> is guaranteed to others; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "two queues refuse together", parent: "A=4", queue: "B=1", guarantee: "A=1", splits: "5*1:A|B",
			want: "requested <5>, total would be <5>, but capability is <5>, of which <1> is guaranteed to others; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "shares are not divided", parent: "A=4 B=4", guarantee: "A=1 B=1", splits: "3*2:A|B",
			want: "requested <6>, total would be <6>, but capability is <8>, of which <2> is guaranteed to others, which leaves enough in sum but not for shares of the size that is asked for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dimensions := &Dimensions{}
			l, _ := New(dimensions, nil, []QueueSpec{
				{Name: "parent", Capability: cards(dimensions, c.parent)},
				{Name: "q", Parent: "parent", Capability: cards(dimensions, c.queue)},
				{Name: "other", Parent: "parent", Guarantee: cards(dimensions, c.guarantee)},
			})
			q, _ := l.Queue("q")
			_, refusal, err := l.FitsInqueueSplit(q, nil, splits(dimensions, c.splits))
			if want := "Queue <q> has insufficient <A|B> quota: " + c.want; err != nil || text(refusal) != want {
				t.Errorf("%q (%v), want %q", text(refusal), err, want)
			}
		})
	}
}

// TestRefusalOfADimensionThatIsNewToTheLedger checks that a resource interned later does not exist in a cluster with a known total.
func TestRefusalOfADimensionThatIsNewToTheLedger(t *testing.T) {
	var dimensions Dimensions
	l, _ := New(&dimensions, Amounts{}, []QueueSpec{{Name: "root"}, {Name: "q", Parent: "root"}})
	late := dimensions.Ordinal(Dimension{Kind: Resource, Name: "late"})
	q, _ := l.Queue("q")
	refusal, err := l.Fits(q, Demand{NewPart(Amounts{{late, Units(1)}})})
	want := "Queue <root> has insufficient <late> quota: requested <1>, total would be <1>, but capability is <0>"
	if got := text(refusal); err != nil || got != want {
		t.Errorf("%q (%v), want %q", got, err, want)
	}
	if l.FitsAlone(q, Demand{NewPart(Amounts{{late, Units(1)}})}) {
		t.Error("the queue alone has room")
	}
}

func TestRefusalUsesUnitsOfPeople(t *testing.T) {
	memory := Dimension{Kind: DeviceCapacity, Name: "gpu", Capacity: "memory"}
	for _, c := range []struct {
		dimension Dimension
		limit     int64
		want      string
	}{
		{h100, 1024, "<1024>"},
		{Dimension{Kind: Resource, Name: "memory"}, 80 << 30, "<80GiB>"},
		{memory, 1536 << 20, "<1.5GiB>"},
		{memory, 1<<30 + 1<<20, "<1025MiB>"},
		{Dimension{Kind: DeviceCapacity, Name: "gpu", Capacity: "cores"}, 800, "<800>"},
		{Dimension{Kind: Resource, Name: "memory"}, 1001, "<1001>"},
		{Dimension{Kind: Resource, Name: "memory"}, 0, "<0>"},
	} {
		if got := (Refusal{Dimension: c.dimension, WouldBe: Units(c.limit + 1), Limit: Units(c.limit)}).String(); !strings.HasSuffix(got, "capability is "+c.want) {
			t.Errorf("%s: %q, want %s at the end", c.dimension, got, c.want)
		}
	}
}
