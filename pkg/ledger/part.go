// SPDX-License-Identifier: Apache-2.0

package ledger

// Holder identifies who holds a part: the UID of a pod.
type Holder string

// hold is one holder of a part and the queue that the holder belongs to.
type hold struct {
	holder Holder
	queue  QueueID
	// pipelined says that the holder is only promised the part.
	pipelined bool
}

// Part is the part of a demand that is charged once, however many holders share it: what one pod
// takes for itself, or what one claim takes. The zero value asks for nothing.
//
// The identity of a part is its address. Keep a part, from one ledger to the next, as long as its pod or
// claim asks for the same. At any time, one ledger and the views of it may use a part: a charge in a
// new ledger forgets all charges in older ledgers. Do not assign a new value to a part that is
// charged: its charge would be lost.
//
// Callers cannot change the lists of a part: all lists are copied on their way in and out, and
// [Ledger.Amend] corrects the charge together with the part.
type Part struct {
	_ noCopy
	// amounts and what it points to never change: Amend replaces the list. Parts and charges may
	// therefore share one list.
	amounts Amounts
	// ledger is where charge is valid. In all other ledgers the part is not charged.
	ledger uint64
	charge charge
	// alternatives are what the part takes one of besides amounts, the preferred one first. A part
	// with alternatives is never charged.
	alternatives []Amounts
}

// charge is what the holders of a part are charged.
type charge struct {
	// holds has the payer first. It is empty if the part is not charged.
	holds []hold
	// amounts is what was charged to the payer's queue, and what is released in the end.
	amounts Amounts
	// releasing has the releasing holder, if there is one. It pays while there are no holds.
	releasing []hold
}

// noCopy makes go vet report every copy of the struct that contains it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// NewPart returns a part that asks for amounts and, if there are alternatives, for one of them in
// addition; the first alternative is the preferred one. A part with alternatives can be checked
// but not charged: for the charge, make a part that contains the chosen alternative.
func NewPart(as Amounts, alternatives ...Amounts) *Part {
	return &Part{amounts: as.copied(), alternatives: copiedAll(alternatives)}
}

// MakePart is NewPart for a part that is a field of another struct.
func MakePart(as Amounts, alternatives ...Amounts) Part {
	return Part{amounts: as.copied(), alternatives: copiedAll(alternatives)}
}

// Twin returns a part that asks for the same amounts, has no alternatives, and is not charged. The
// two share the memory of the amounts.
func (p *Part) Twin() Part {
	return Part{amounts: p.amounts}
}

// Amounts returns a copy of what the part asks for besides its alternatives.
func (p *Part) Amounts() Amounts {
	return p.amounts.copied()
}

// Of returns how much the part asks for in dimension o, and zero if o is not listed.
func (p *Part) Of(o Ordinal) Amount {
	return p.amounts.Of(o)
}

// Is reports whether the part asks for exactly these entries in this order, besides its
// alternatives.
func (p *Part) Is(as Amounts) bool {
	return p.amounts.is(as)
}

// Alternatives returns a copy of the alternatives, nil if there are none.
func (p *Part) Alternatives() []Amounts {
	return copiedAll(p.alternatives)
}

// open reports whether a part has alternatives to choose from.
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
