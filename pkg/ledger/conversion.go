// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"math"
	"math/big"
	"math/bits"
)

// FromNano returns n billionths of a unit. The error is ErrOverflow.
func FromNano(n *big.Int) (Amount, error) {
	if n.BitLen() > 127 {
		return Amount{}, ErrOverflow
	}
	var words [16]byte
	new(big.Int).Abs(n).FillBytes(words[:])
	a := Amount{}
	for _, b := range words[:8] {
		a.hi = a.hi<<8 | int64(b)
	}
	for _, b := range words[8:] {
		a.lo = a.lo<<8 | uint64(b)
	}
	if n.Sign() < 0 {
		a = a.negated()
	}
	return a, nil
}

// FromDecimal returns unscaled/10^scale units, rounded up to whole billionths. A Kubernetes quantity
// holds these two numbers. The error is ErrOverflow.
func FromDecimal(unscaled *big.Int, scale int32) (Amount, error) {
	const nanoScale, digits = 9, 40 // 2^127 has 39 digits
	shift := nanoScale - int64(scale)
	switch {
	case unscaled.Sign() == 0:
		return Amount{}, nil
	case shift > digits:
		return Amount{}, ErrOverflow
	case shift >= 0:
		return FromNano(new(big.Int).Mul(unscaled, pow10(shift)))
	}
	quotient, rest := new(big.Int).DivMod(unscaled, pow10(min(-shift, int64(unscaled.BitLen()))), new(big.Int))
	if rest.Sign() != 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return FromNano(quotient)
}

func pow10(n int64) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil)
}

// FromFloat returns v times a number of billionths, rounded up to whole billionths. Volcano counts milli-cores and
// bytes in floating-point numbers. The error is ErrOverflow, also for NaN and infinite values.
func FromFloat(v float64, billionths uint64) (Amount, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Amount{}, ErrOverflow
	}
	const mantissa = 53
	if math.Abs(v) < 1<<mantissa && v == math.Trunc(v) {
		return Scaled(int64(v), billionths), nil
	}
	fraction, exponent := math.Frexp(math.Abs(v))
	hi, lo := bits.Mul64(uint64(math.Ldexp(fraction, mantissa)), billionths)
	a := Amount{hi: int64(hi), lo: lo}
	for exponent -= mantissa; exponent > 0; exponent-- {
		if a.hi >= 1<<62 {
			return Amount{}, ErrOverflow
		}
		a.hi, a.lo = a.hi<<1|int64(a.lo>>63), a.lo<<1
	}
	lost := false
	for ; exponent < 0 && a != (Amount{}); exponent++ {
		lost = lost || a.lo&1 == 1
		a.hi, a.lo = a.hi>>1, a.lo>>1|uint64(a.hi)<<63
	}
	if lost {
		a, _ = a.Add(Amount{lo: 1})
	}
	if v < 0 {
		a = a.negated()
	}
	return a, nil
}

// Whole returns the amount in whole units. It returns false if the amount has a fraction, is negative, or does not fit into an int64.
func (a Amount) Whole() (int64, bool) {
	if a.hi < 0 || a.hi >= nano {
		return 0, false
	}
	units, rest := bits.Div64(uint64(a.hi), a.lo, nano)
	return int64(units), rest == 0 && units <= math.MaxInt64
}

// Float returns the rounded amount, in units of the given number of billionths.
func (a Amount) Float(billionths uint64) float64 {
	return a.float() / float64(billionths)
}

// Nano returns the amount in billionths of its unit.
func (a Amount) Nano() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(a.hi), 64)
	return n.Add(n, new(big.Int).SetUint64(a.lo))
}

// String returns the amount in whole units, with as many decimals as it needs.
func (a Amount) String() string {
	return decimal(new(big.Rat).SetFrac(a.Nano(), big.NewInt(nano)))
}

// float returns the amount in billionths, rounded. Use it for ratios only.
func (a Amount) float() float64 {
	return float64(a.hi)*(1<<64) + float64(a.lo)
}
