// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestAmountIsExact compares the arithmetic with math/big, at random points and at the edges of the range.
func TestAmountIsExact(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	edge := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1))
	values := []*big.Int{big.NewInt(0), big.NewInt(1), big.NewInt(-1), edge, new(big.Int).Neg(edge)}
	for range 300 {
		n := new(big.Int).SetUint64(random.Uint64())
		n.Lsh(n, uint(random.IntN(63))).Add(n, new(big.Int).SetUint64(random.Uint64()))
		if random.IntN(2) == 0 {
			n.Neg(n)
		}
		values = append(values, n)
	}
	for _, x := range values {
		for _, y := range values {
			a, b := mustFromNano(t, x), mustFromNano(t, y)
			check(t, a.Add, b, new(big.Int).Add(x, y))
			check(t, a.Sub, b, new(big.Int).Sub(x, y))
			if got, want := a.Cmp(b), x.Cmp(y); got != want {
				t.Fatalf("Cmp(%v, %v) = %d, want %d (seed %d)", x, y, got, want, seed)
			}
		}
	}
}

func mustFromNano(t *testing.T, n *big.Int) Amount {
	t.Helper()
	a, err := FromNano(n)
	if err != nil {
		t.Fatalf("FromNano(%v): %v", n, err)
	}
	if a.Nano().Cmp(n) != 0 {
		t.Fatalf("FromNano(%v).Nano() = %v", n, a.Nano())
	}
	return a
}

func check(t *testing.T, operation func(Amount) (Amount, error), b Amount, want *big.Int) {
	t.Helper()
	got, err := operation(b)
	low := new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 127))
	if want.BitLen() > 127 && want.Cmp(low) != 0 {
		if !errors.Is(err, ErrOverflow) {
			t.Fatalf("got %v, %v; want an overflow, because the result is %v", got, err, want)
		}
		return
	}
	if err != nil || got.Nano().Cmp(want) != 0 {
		t.Fatalf("got %v, %v; want %v", got.Nano(), err, want)
	}
}

func TestFromNanoRefusesWhatDoesNotFit(t *testing.T) {
	if a, err := FromNano(new(big.Int).Lsh(big.NewInt(1), 127)); !errors.Is(err, ErrOverflow) {
		t.Fatalf("got %v, %v; want an overflow", a, err)
	}
}

func TestUnitsHoldEveryInt64(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 8, math.MaxInt64, math.MinInt64} {
		want := new(big.Int).Mul(big.NewInt(n), big.NewInt(1e9))
		if got := Units(n).Nano(); got.Cmp(want) != 0 {
			t.Errorf("Units(%d) is %v billionths, want %v", n, got, want)
		}
	}
}

func TestAmountString(t *testing.T) {
	for _, c := range []struct {
		nano int64
		want string
	}{
		{0, "0"},
		{8e9, "8"},
		{500e6, "0.5"},
		{-1500e6, "-1.5"},
		{1, "0.000000001"},
	} {
		if got := mustFromNano(t, big.NewInt(c.nano)).String(); got != c.want {
			t.Errorf("%d billionths print as %q, want %q", c.nano, got, c.want)
		}
	}
}

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit Limit
		total int64
		want  bool
	}{
		{"no limit admits anything", Limit{}, math.MaxInt64, true},
		{"a limit of zero admits zero", AtMost(Amount{}), 0, true},
		{"a limit of zero admits nothing else", AtMost(Amount{}), 1, false},
		{"a limit admits itself", AtMost(Units(8)), 8, true},
		{"a limit admits not one more", AtMost(Units(8)), 9, false},
	} {
		if got := !c.limit.exceededBy(Units(c.total)); got != c.want {
			t.Errorf("%s: got %t", c.name, got)
		}
	}
}

func TestFromDecimal(t *testing.T) {
	for _, c := range []struct {
		unscaled int64
		scale    int32
		want     string
	}{
		{0, 0, "0"}, {8, 0, "8"}, {85899345920, 0, "85899345920"}, {1, 3, "0.001"}, {1, 9, "0.000000001"}, {1, 12, "0.000000001"},
		{1500, 12, "0.000000002"}, {-1500, 12, "-0.000000001"}, {12, -18, "12000000000000000000"}, {1, 2_000_000_000, "0.000000001"},
	} {
		got, err := FromDecimal(big.NewInt(c.unscaled), c.scale)
		if err != nil || got.String() != c.want {
			t.Errorf("%d with scale %d is %s (%v), want %s", c.unscaled, c.scale, got, err, c.want)
		}
	}
	for _, scale := range []int32{-30, -2_000_000_000} {
		if _, err := FromDecimal(big.NewInt(1), scale); !errors.Is(err, ErrOverflow) {
			t.Errorf("scale %d: %v", scale, err)
		}
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		amount Amount
		n      int64
		want   string
	}{
		{Units(3), 4, "12"}, {Scaled(1, 1), 1_000_000_000, "1"}, {Units(math.MaxInt64), 8, "73786976294838206456"}, {Units(5), 0, "0"}, {Units(-2), 3, "-6"},
	} {
		if got, err := c.amount.Times(c.n); err != nil || got.String() != c.want {
			t.Errorf("%d times %s is %s (%v), want %s", c.n, c.amount, got, err, c.want)
		}
	}
	if _, err := Units(math.MaxInt64).Times(math.MaxInt64); !errors.Is(err, ErrOverflow) {
		t.Errorf("the error is %v", err)
	}
}

// TestFromFloatIsExact compares with rationals. A float is a fraction. An amount with too many decimals is rounded up.
func TestFromFloatIsExact(t *testing.T) {
	for _, v := range []float64{0, 1, -1, 1500, 0.5, 0.1, 1e-12, -0.1, 1 << 53, 1<<53 + 2, 1 << 70, 5e18, 123456789.000000001} {
		for _, billionths := range []uint64{1, 1_000_000, nano} {
			got, err := FromFloat(v, billionths)
			if err != nil {
				t.Fatalf("%g: %v", v, err)
			}
			exact := new(big.Rat).SetFloat64(math.Abs(v))
			exact.Mul(exact, new(big.Rat).SetInt64(int64(billionths)))
			want, rest := new(big.Int).QuoRem(exact.Num(), exact.Denom(), new(big.Int))
			if rest.Sign() > 0 {
				want.Add(want, big.NewInt(1))
			}
			if v < 0 {
				want.Neg(want)
			}
			if got.Nano().Cmp(want) != 0 {
				t.Errorf("%g times %d billionths: got %s billionths, want %s", v, billionths, got.Nano(), want)
			}
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
		if _, err := FromFloat(v, 1); !errors.Is(err, ErrOverflow) {
			t.Errorf("%g: %v", v, err)
		}
	}
}

func TestShares(t *testing.T) {
	for _, c := range []struct {
		amount           Amount
		each, most, want int64
	}{
		{Units(7), 2, 9, 3}, {Units(7), 2, 2, 2}, {Units(7), 8, 9, 0}, {Units(-7), 2, 9, 0}, {Amount{}, 1, 9, 0},
		{Scaled(2_500, 1_000_000), 1, 9, 2}, {largest, 1, math.MaxInt64, math.MaxInt64},
	} {
		if got := c.amount.Shares(c.each, c.most); got != c.want {
			t.Errorf("%s has %d shares of %d, want %d", c.amount, got, c.each, c.want)
		}
	}
}
