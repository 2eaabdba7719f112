// SPDX-License-Identifier: Apache-2.0

package ledger

// Holder identifies who holds a part: the UID of a pod.
type Holder string

// hold is one holder of a part, with the queue that the part is charged to.
type hold struct {
	holder Holder
	queue  QueueID
	// pipelined reports whether the holder is only promised the part.
	pipelined bool
}

// Part is a part of a demand that is charged once, however many holders share it. It is the request of one pod for
// itself, or one claim. The zero value asks for nothing.
//
// The identity of a part is its address. Keep a part across ledgers as long as the request of its pod or claim stays
// the same. Use a part in only one ledger and its views at a time. A charge in a new ledger forgets all charges in
// older ledgers. Do not assign a new value to a charged part, because this loses the charge.
//
// Callers cannot change the lists of a part. All lists are copied on their way in and out, and [Ledger.Amend] changes
// the charge together with the part.
type Part struct {
	_ noCopy
	// amounts and its entries never change. Amend replaces the list, so parts and charges may share it.
	amounts Amounts
	// ledger is the ID of the ledger where charge is valid. In all other ledgers, the part is not charged.
	ledger uint64
	charge charge
	// alternatives lists amounts, preferred first. The part takes one of them in addition to amounts. A part with
	// alternatives is never charged.
	alternatives []Amounts
	// standsFor is the part that this part stands in for, or nil.
	standsFor *Part
}

// charge records the holders of a part and their charge.
type charge struct {
	// holds lists the holders, payer first. It is empty if the part is not charged.
	holds []hold
	// holders has the holders in holds, or nil. See [Ledger.indexOf].
	holders map[Holder]bool
	// amounts is charged to the payer's queue, and released in the end.
	amounts Amounts
	// releasing contains the releasing holder, if any. It pays while there are no holds.
	releasing []hold
	// standIns has the stand-ins of the part, see [Ledger.StandIn].
	standIns []*Part
}

// noCopy makes go vet report every copy of the struct that contains it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// NewPart returns a part that asks for amounts and for one of the alternatives, if any. The first alternative is preferred.
// A part with alternatives can be checked but not charged. To charge it, make a part that contains the chosen alternative.
func NewPart(as Amounts, alternatives ...Amounts) *Part {
	return &Part{amounts: as.copied(), alternatives: copiedAll(alternatives)}
}

// MakePart is NewPart for a part that is a field of another struct.
func MakePart(as Amounts, alternatives ...Amounts) Part {
	return Part{amounts: as.copied(), alternatives: copiedAll(alternatives)}
}

// Twin returns an uncharged part with the same amounts and no alternatives. Both parts share the memory of the amounts.
func (p *Part) Twin() Part {
	return Part{amounts: p.amounts}
}

// Amounts returns a copy of the part's amounts, without its alternatives.
func (p *Part) Amounts() Amounts {
	return p.amounts.copied()
}

// Of returns the part's amount of dimension o, or zero if the part does not list o.
func (p *Part) Of(o Ordinal) Amount {
	return p.amounts.Of(o)
}

// Is reports whether the part has exactly these entries in this order. It ignores alternatives.
func (p *Part) Is(as Amounts) bool {
	return p.amounts.is(as)
}

// Alternatives returns a copy of the alternatives, or nil if there are none.
func (p *Part) Alternatives() []Amounts {
	return copiedAll(p.alternatives)
}

// open reports whether a part has alternatives.
func (p *Part) open() bool {
	return len(p.alternatives) > 0
}

func copiedAll(lists []Amounts) []Amounts {
	if len(lists) == 0 {
		return nil
	}
	all := make([]Amounts, len(lists))
	for i, as := range lists {
		all[i] = as.copied()
	}
	return all
}
