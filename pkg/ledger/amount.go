package ledger

import (
	"errors"
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
	negative := n < 0
	magnitude := uint64(n)
	if negative {
		magnitude = -magnitude
	}
	hi, lo := bits.Mul64(magnitude, nano)
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

// admits reports whether a total of a stays within the limit.
func (l Limit) admits(a Amount) bool {
	return !l.Set || a.Cmp(l.Amount) <= 0
}
