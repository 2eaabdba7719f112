package ledger

import (
	"fmt"
	"math/big"
	"strings"
)

// Refusal says why a demand does not fit: which queue on the way to the root refused, in
// which dimension, and the numbers.
type Refusal struct {
	Queue     string
	Dimension Dimension
	// Requested is what was asked for in addition to what is held.
	Requested Amount
	// WouldBe is what the queue would hold in all.
	WouldBe Amount
	// Limit is the capability that the refusal comes from: the queue's own, that of its nearest
	// ancestor that has one, or the cluster's total.
	Limit Amount
	// Guaranteed is how much of Limit is guaranteed to other queues; never negative. The queue may
	// use Limit - Guaranteed, which WouldBe exceeds unless the request is for indivisible shares.
	Guaranteed Amount
}

// String is the sentence that people see in events and conditions.
func (r Refusal) String() string {
	sentence := fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <%s>, total would be <%s>, but capability is <%s>",
		r.Queue, r.Dimension, r.Dimension.Format(r.Requested), r.Dimension.Format(r.WouldBe), r.Dimension.Format(r.Limit))
	verb := "is"
	if r.Guaranteed.Sign() > 0 {
		sentence += fmt.Sprintf(", of which <%s> is guaranteed to others", r.Dimension.Format(r.Guaranteed))
		verb = "leaves"
	}
	if usable, err := r.Limit.Sub(r.Guaranteed); err == nil && r.WouldBe.Cmp(usable) <= 0 {
		sentence += fmt.Sprintf(", which %s enough in sum but not for shares of the size that is asked for", verb)
	}
	return sentence
}

// Format writes an amount in the unit that a person would use: cores, devices, cards, and
// for bytes the largest binary unit that needs no more than three decimals.
func (d Dimension) Format(a Amount) string {
	if !d.bytes() {
		return a.String()
	}
	value := new(big.Rat).SetFrac(a.Nano(), big.NewInt(nano))
	for i := len(binaryUnits) - 1; i >= 0; i-- {
		unit := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(10*(i+1))))
		scaled := new(big.Rat).Quo(value, unit)
		if new(big.Rat).Abs(scaled).Cmp(big.NewRat(1, 1)) >= 0 && decimals(scaled) <= 3 {
			return decimal(scaled) + binaryUnits[i]
		}
	}
	return a.String()
}

var binaryUnits = []string{"KiB", "MiB", "GiB", "TiB", "PiB"}

// bytes reports whether people count the dimension in bytes.
func (d Dimension) bytes() bool {
	name := d.Name
	if d.Kind == DeviceCapacity {
		name = d.Capacity
	}
	return d.Kind != Card && d.Kind != DeviceCount &&
		(name == "memory" || strings.HasSuffix(name, "/memory") || strings.HasSuffix(name, "storage") || strings.HasPrefix(name, "hugepages-"))
}

// decimal writes a rational without loss and without trailing zeros. Its denominator must
// divide a power of ten, as those of amounts and of amounts in binary units do.
func decimal(r *big.Rat) string {
	return r.FloatString(decimals(r))
}

func decimals(r *big.Rat) int {
	n, _ := r.FloatPrec()
	return n
}
