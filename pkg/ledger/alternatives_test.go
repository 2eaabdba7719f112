// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// either returns a part that takes one of several amounts of the two dimensions of the model.
func either(alternatives ...pair) *Part {
	var lists []Amounts
	for _, a := range alternatives {
		lists = append(lists, amountsOf(a))
	}
	return NewPart(nil, lists...)
}

func TestChoose(t *testing.T) {
	cpu4, gpu4 := pair{4, 0}, pair{0, 4}
	same := either(cpu4, gpu4)
	for _, c := range []struct {
		name       string
		capability pair
		demand     Demand
		want       []int
		wantErr    error
		refused    string
	}{
		{name: "the preferred one when both fit", capability: pair{4, 4}, demand: Demand{either(cpu4, gpu4)}, want: []int{0}},
		{name: "the other one when only that fits", capability: pair{3, 4}, demand: Demand{either(cpu4, gpu4)}, want: []int{1}},
		{name: "none", capability: pair{3, 3}, demand: Demand{either(cpu4, gpu4)},
			refused: "Queue <q> has insufficient <cpu> quota: requested <4>, total would be <4>, but capability is <3>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "two parts divide what there is", capability: pair{4, 4}, demand: Demand{either(cpu4, gpu4), either(cpu4)}, want: []int{1, 0}},
		{name: "each alone would fit, both do not", capability: pair{4, 0}, demand: Demand{either(cpu4), either(cpu4)},
			refused: "Queue <q> has insufficient <cpu> quota: requested <8>, total would be <8>, but capability is <4>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{name: "a part that is listed twice is one choice", capability: pair{4, 4}, demand: Demand{same, same}, want: []int{0, 0}},
		{name: "parts without a choice", capability: pair{4, 4}, demand: Demand{either(cpu4, gpu4), NewPart(amountsOf(pair{1, 0}))}, want: []int{1, -1}},
		{name: "what a part takes besides its alternatives", capability: pair{4, 4}, want: []int{1},
			demand: Demand{NewPart(amountsOf(pair{1, 0}), amountsOf(cpu4), amountsOf(gpu4))}},
		{name: "more combinations than can be tried", capability: pair{8, 1 << 50}, demand: unsatisfiable(40), wantErr: ErrTooManyAlternatives},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := twoDimensions(t, c.capability)
			got, r, err := l.Choose(0, c.demand)
			if !errors.Is(err, c.wantErr) || !slices.Equal(got, c.want) {
				t.Fatalf("got %v, %v", got, err)
			}
			if (r != nil || c.refused != "") && (r == nil || r.String() != c.refused) {
				t.Errorf("refused with %v, want %q", r, c.refused)
			}
			if also, alsoErr := l.Fits(0, c.demand); (also == nil) != (r == nil) || !errors.Is(alsoErr, c.wantErr) {
				t.Errorf("Fits says %v, %v", also, alsoErr)
			}
			if err := l.Charge(0, "pod", c.demand); !errors.Is(err, ErrOpen) {
				t.Errorf("charging a part with alternatives: %v", err)
			}
		})
	}
}

// TestChooseEndsForAPodWithThousandsOfAlternatives checks that the search finds what fits, and ends.
func TestChooseEndsForAPodWithThousandsOfAlternatives(t *testing.T) {
	for parts, want := range map[int]error{2048: nil, maxTries + 1: ErrTooManyAlternatives} {
		d := unsatisfiable(parts)[:parts] // all fit
		if _, refusal, err := twoDimensions(t, pair{8, 0}).Choose(0, d); refusal != nil || !errors.Is(err, want) {
			t.Errorf("%d parts: %v, %v, want the error %v", parts, refusal, err, want)
		}
	}
}

// unsatisfiable returns a demand in which every choice of the first parts fits but the last part does not fit. All sums are different.
func unsatisfiable(parts int) Demand {
	var d Demand
	for i := range parts {
		d = append(d, either(pair{0, 0}, pair{0, 1 << min(i, 40)}))
	}
	return append(d, either(pair{9, 9}))
}

func twoDimensions(t *testing.T, capability pair) *Ledger {
	t.Helper()
	var dimensions Dimensions
	for _, d := range modelDimensions {
		dimensions.Ordinal(d)
	}
	l, aside := New(&dimensions, nil, []QueueSpec{{Name: "q", Capability: amountsOf(capability)}})
	if len(aside) > 0 {
		t.Fatal(aside)
	}
	return l
}

// FuzzChoose compares Choose with a search of all combinations in order.
func FuzzChoose(f *testing.F) {
	f.Add([]byte{9, 9, 2, 2, 1, 2, 3, 4, 2, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		s := script(bytes)
		capability := pair{int64(s.below(12)), int64(s.below(12))}
		options := make([][]pair, s.below(5))
		var d Demand
		for i := range options {
			for range 1 + s.below(3) {
				options[i] = append(options[i], pair{int64(s.below(6)), int64(s.below(6))})
			}
			d = append(d, either(options[i]...))
		}
		got, r, err := twoDimensions(t, capability).Choose(0, d)
		want := firstThatFits(options, capability, nil)
		if err != nil || (r == nil) != (want != nil) || fmt.Sprint(got) != fmt.Sprint(want) && len(options) > 0 {
			t.Fatalf("%v in %v: chose %v, %v; want %v", options, capability, got, err, want)
		}
	})
}

// firstThatFits returns nil if no combination fits, and an empty choice if there is nothing to choose.
func firstThatFits(options [][]pair, left pair, choice []int) []int {
	if len(options) == 0 {
		return append([]int{}, choice...)
	}
	for i, o := range options[0] {
		if o[0] <= left[0] && o[1] <= left[1] {
			if all := firstThatFits(options[1:], pair{left[0] - o[0], left[1] - o[1]}, append(choice, i)); all != nil {
				return all
			}
		}
	}
	return nil
}
