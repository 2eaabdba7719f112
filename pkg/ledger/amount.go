package ledger

import (
	"errors"
	"math"
	"math/big"
	"math/bits"
)

// nano is the number of ledger units in one whole device, card, core or byte. A billionth
// is the finest grain that a Kubernetes quantity has.
const nano = 1_000_000_000

// ErrOverflow says that a sum left the range of an Amount, ±1.7e29 whole units. No honest
// demand comes near it: it is thousands of queues that each hold the largest int64.
var ErrOverflow = errors.New("amount overflows the ledger")

// Amount is an exact quantity of one dimension, counted in billionths of its unit in 128
// bits: a hundred thousand devices of 288 GiB and a thousandth of a core are both exact.
// The zero value is zero, which means none; "unlimited" is not an Amount, see [Limit].
// Amounts compare with ==.
type Amount struct {
	hi int64
	lo uint64
}

// Units returns n whole devices, cards, cores or bytes. n may be negative.
func Units(n int64) Amount {
	return Scaled(n, nano)
}

// Scaled returns n units of so many billionths each, at most a billion; a milli-core is a
// unit of a million. n may be negative.
func Scaled(n int64, billionths uint64) Amount {
	negative := n < 0
	magnitude := uint64(n)
	if negative {
		magnitude = -magnitude
	}
	hi, lo := bits.Mul64(magnitude, billionths)
	a := Amount{hi: int64(hi), lo: lo}
	if negative {
		a = a.negated()
	}
	return a
}

// FromNano returns n billionths of a unit, or ErrOverflow when 128 bits do not hold n.
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

// FromDecimal returns unscaled/10^scale units, rounded up to whole billionths: what a Kubernetes
// quantity holds. A value too large is ErrOverflow.
func FromDecimal(unscaled *big.Int, scale int32) (Amount, error) {
	const nanoScale, digits = 9, 40 // a number of more digits than 40 is too large, or rounds to nothing
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

// Times returns n times the amount, or ErrOverflow.
func (a Amount) Times(n int64) (Amount, error) {
	return FromNano(new(big.Int).Mul(a.Nano(), big.NewInt(n)))
}

// FromFloat returns v units of so many billionths each, rounded up to whole billionths: what
// Volcano counts in floating-point numbers of milli-cores or bytes. A value that is no number,
// infinite, or too large is ErrOverflow.
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

// Shares returns how many shares of so many whole units, which must be more than zero, the amount
// has, at most that many.
func (a Amount) Shares(each, most int64) int64 {
	return a.dividedBy(Units(each), most)
}

// dividedBy returns how often a positive amount is contained in a, between 0 and most.
func (a Amount) dividedBy(each Amount, most int64) int64 {
	if a.Sign() <= 0 {
		return 0
	}
	shares := new(big.Int).Quo(a.Nano(), each.Nano())
	if !shares.IsInt64() {
		return most
	}
	return min(shares.Int64(), most)
}

// Float returns the amount in units of so many billionths, rounded.
func (a Amount) Float(billionths uint64) float64 {
	return a.float() / float64(billionths)
}

func (a Amount) negated() Amount {
	lo, carry := bits.Add64(^a.lo, 1, 0)
	return Amount{hi: ^a.hi + int64(carry), lo: lo}
}

// Add returns a+b, or ErrOverflow.
func (a Amount) Add(b Amount) (Amount, error) {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(uint64(a.hi), uint64(b.hi), carry)
	sum := Amount{hi: int64(hi), lo: lo}
	if (a.hi < 0) == (b.hi < 0) && (sum.hi < 0) != (a.hi < 0) {
		return Amount{}, ErrOverflow
	}
	return sum, nil
}

// Sub returns a-b, or ErrOverflow.
func (a Amount) Sub(b Amount) (Amount, error) {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(uint64(a.hi), uint64(b.hi), borrow)
	difference := Amount{hi: int64(hi), lo: lo}
	if (a.hi < 0) != (b.hi < 0) && (difference.hi < 0) != (a.hi < 0) {
		return Amount{}, ErrOverflow
	}
	return difference, nil
}

// Cmp is -1, 0 or +1 as a is less than, equal to or greater than b.
func (a Amount) Cmp(b Amount) int {
	switch {
	case a == b:
		return 0
	case a.hi < b.hi || a.hi == b.hi && a.lo < b.lo:
		return -1
	default:
		return 1
	}
}

// Sign is -1, 0 or +1 as a is negative, zero or positive.
func (a Amount) Sign() int {
	return a.Cmp(Amount{})
}

// Nano returns the amount in billionths of its unit.
func (a Amount) Nano() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(a.hi), 64)
	return n.Add(n, new(big.Int).SetUint64(a.lo))
}

// String is the amount in whole units, with as many decimals as it needs.
func (a Amount) String() string {
	return decimal(new(big.Rat).SetFrac(a.Nano(), big.NewInt(nano)))
}

// float is the amount in billionths, rounded; good for ratios only.
func (a Amount) float() float64 {
	return float64(a.hi)*(1<<64) + float64(a.lo)
}

// largest is the largest Amount.
var largest = Amount{hi: math.MaxInt64, lo: math.MaxUint64}

// Limit is an upper bound that may be absent. The zero value is unlimited, and a limit of
// zero means none: the two are different states, not different numbers.
type Limit struct {
	Amount Amount
	Set    bool
}

// AtMost returns a limit of a.
func AtMost(a Amount) Limit {
	return Limit{Amount: a, Set: true}
}

// exceededBy reports whether a is more than the limit allows.
func (l *Limit) exceededBy(a Amount) bool {
	return l.Set && (a.hi > l.Amount.hi || a.hi == l.Amount.hi && a.lo > l.Amount.lo)
}
