// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/bits"
)

// nano is the number of billionths in one whole device, card, core or byte. A Kubernetes quantity
// has no finer grain.
const nano = 1_000_000_000

// Whole is one whole unit in billionths, for [Amount.Float].
const Whole = nano

// ErrOverflow says that a sum left the range of an Amount, ±1.7e29 whole units. Thousands of queues
// that each hold the largest int64 stay within that range.
var ErrOverflow = errors.New("amount overflows the ledger")

// Amount is an exact quantity of one dimension, counted in billionths of its unit in 128 bits. It holds the memory of a
// hundred thousand devices of 288 GiB as exactly as a thousandth of a core. The zero value means none. "Unlimited" is
// not an Amount, see [Limit]. Amounts compare with ==.
type Amount struct {
	hi int64
	lo uint64
}

// Units returns n whole devices, cards, cores or bytes. n may be negative.
func Units(n int64) Amount {
	return Scaled(n, nano)
}

// Scaled returns n times a number of billionths. For example, a milli-core is a million billionths. The number must be
// at most a billion. n may be negative.
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

func (a Amount) negated() Amount {
	lo, carry := bits.Add64(^a.lo, 1, 0)
	return Amount{hi: ^a.hi + int64(carry), lo: lo}
}

// Times returns n times the amount, or ErrOverflow.
func (a Amount) Times(n int64) (Amount, error) {
	return FromNano(new(big.Int).Mul(a.Nano(), big.NewInt(n)))
}

// Shares returns how many shares of each whole units fit into the amount. The result is between 0 and most. Each must be greater than zero.
func (a Amount) Shares(each, most int64) int64 {
	return a.dividedBy(Units(each), most)
}

// dividedBy returns how many times another amount fits into a. The result is between 0 and most. The other amount must
// be greater than zero.
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

// Append appends the bytes of a to a list. Equal amounts have equal bytes.
func (a Amount) Append(to []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(to, uint64(a.hi)), a.lo)
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

var largest = Amount{hi: math.MaxInt64, lo: math.MaxUint64}
