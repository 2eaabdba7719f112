// SPDX-License-Identifier: Apache-2.0

package ledger

// Limit is an upper bound that may be absent. The zero value is unlimited. A limit of zero is different: it allows nothing.
type Limit struct {
	// Amount is the bound. It has no meaning if Set is false.
	Amount Amount
	Set    bool
}

// AtMost returns a limit of a.
func AtMost(a Amount) Limit {
	return Limit{Amount: a, Set: true}
}

func (l *Limit) exceededBy(a Amount) bool {
	return l.Set && (a.hi > l.Amount.hi || a.hi == l.Amount.hi && a.lo > l.Amount.lo)
}

var (
	unlimited = Limit{}
	nothing   = AtMost(Amount{})
)

// at returns the limit of a dimension, or unlimited if the list has no entry for it.
func at(limits []Limit, o Ordinal) Limit {
	if int(o) >= len(limits) {
		return unlimited
	}
	return limits[o]
}

func limitsOf(as Amounts) []Limit {
	var limits []Limit
	for _, e := range as {
		limits = grown(limits, e.Dimension)
		limits[e.Dimension] = AtMost(e.Amount)
	}
	return limits
}
