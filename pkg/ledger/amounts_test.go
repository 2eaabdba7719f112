// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestMaxHasTheLargerAmountOfEachDimension(t *testing.T) {
	a := ledger.Amounts{{Dimension: 0, Amount: ledger.Units(1)}, {Dimension: 1, Amount: ledger.Units(5)}}
	b := ledger.Amounts{{Dimension: 1, Amount: ledger.Units(4)}, {Dimension: 0, Amount: ledger.Units(2)}, {Dimension: 2, Amount: ledger.Units(3)}}
	want := ledger.Amounts{{Dimension: 0, Amount: ledger.Units(2)}, {Dimension: 1, Amount: ledger.Units(5)}, {Dimension: 2, Amount: ledger.Units(3)}}
	if got := a.Max(b); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTimesMultipliesACopy(t *testing.T) {
	a := ledger.Amounts{{Dimension: 0, Amount: ledger.Units(2)}}
	for n, want := range map[int64]ledger.Amount{0: {}, 1: ledger.Units(2), 3: ledger.Units(6)} {
		got, err := a.Times(n)
		if err != nil || got.Of(0) != want {
			t.Errorf("%d times: %v, %v", n, got, err)
		}
		got[0].Amount = ledger.Units(9)
	}
	if a.Of(0) != ledger.Units(2) {
		t.Errorf("the list itself has changed: %v", a)
	}
	huge := ledger.Amounts{{Dimension: 0, Amount: ledger.Units(math.MaxInt64)}}
	if _, err := huge.Times(math.MaxInt64); !errors.Is(err, ledger.ErrOverflow) {
		t.Errorf("got %v, want an overflow", err)
	}
}

func TestContainsSaysHowOftenAllEntriesAreThere(t *testing.T) {
	has := ledger.Amounts{{Dimension: 0, Amount: ledger.Units(7)}, {Dimension: 1, Amount: ledger.Units(3)}}
	for _, c := range []struct {
		each       ledger.Amounts
		most, want int64
	}{
		{nil, 9, 0}, {ledger.Amounts{{Dimension: 0, Amount: ledger.Units(2)}}, 9, 3}, {ledger.Amounts{{Dimension: 0, Amount: ledger.Units(2)}}, 2, 2}, {ledger.Amounts{{Dimension: 0, Amount: ledger.Units(2)}, {Dimension: 1, Amount: ledger.Units(2)}}, 9, 1},
		{ledger.Amounts{{Dimension: 0, Amount: ledger.Units(1)}, {Dimension: 2, Amount: ledger.Units(1)}}, 9, 0}, {ledger.Amounts{{Dimension: 0, Amount: ledger.Units(8)}}, 9, 0},
	} {
		if got := has.Contains(c.each, c.most); got != c.want {
			t.Errorf("%v contains %v %d times, want %d", has, c.each, got, c.want)
		}
	}
}
