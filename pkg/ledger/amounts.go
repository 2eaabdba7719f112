// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// Entry is an amount of one dimension.
type Entry struct {
	Dimension Ordinal
	Amount    Amount
}

// Amounts is a short list of entries, at most one for each dimension. A nil list is empty.
// Build a list with Plus.
type Amounts []Entry

// Plus returns the list with a more of dimension o. Plus may change and reuse the list that it
// is called on. The error is ErrOverflow.
func (as Amounts) Plus(o Ordinal, a Amount) (Amounts, error) {
	for i := range as {
		if as[i].Dimension == o {
			sum, err := as[i].Amount.Add(a)
			if err != nil {
				return nil, err
			}
			as[i].Amount = sum
			return as, nil
		}
	}
	return append(as, Entry{Dimension: o, Amount: a}), nil
}

// PlusAll returns the list with all entries of another list added, as Plus does.
func (as Amounts) PlusAll(others Amounts) (Amounts, error) {
	var err error
	for _, e := range others {
		if as, err = as.Plus(e.Dimension, e.Amount); err != nil {
			return nil, err
		}
	}
	return as, nil
}

// Times returns a new list with n times each entry, or ErrOverflow.
func (as Amounts) Times(n int64) (Amounts, error) {
	if n == 1 {
		return as.copied(), nil
	}
	var list Amounts
	for _, e := range as {
		amount, err := e.Amount.Times(n)
		if err != nil {
			return nil, err
		}
		list = append(list, Entry{Dimension: e.Dimension, Amount: amount})
	}
	return list, nil
}

// Max returns the list with at least as much of each dimension as another list has. Max may change and reuse the list
// that it is called on.
func (as Amounts) Max(others Amounts) Amounts {
	for _, e := range others {
		switch i := slices.IndexFunc(as, func(own Entry) bool { return own.Dimension == e.Dimension }); {
		case i < 0:
			as = append(as, e)
		case as[i].Amount.Cmp(e.Amount) < 0:
			as[i] = e
		}
	}
	return as
}

// PlusPart returns the list with all entries of a part added, as PlusAll does. Alternatives of
// the part do not count.
func (as Amounts) PlusPart(p *Part) (Amounts, error) {
	return as.PlusAll(p.amounts)
}

// Of returns the amount of dimension o, and zero if o is not listed.
func (as Amounts) Of(o Ordinal) Amount {
	for i := range as {
		if as[i].Dimension == o {
			return as[i].Amount
		}
	}
	return Amount{}
}

// Beyond appends to a list, which may be nil, by how much each entry exceeds the same dimension
// of the others. Dimensions that do not exceed the others are left out.
func (as Amounts) Beyond(others, list Amounts) Amounts {
	for _, e := range as {
		if excess, err := e.Amount.Sub(others.Of(e.Dimension)); err == nil && excess.Sign() > 0 {
			list = append(list, Entry{Dimension: e.Dimension, Amount: excess})
		}
	}
	return list
}

// Contains returns how many times the list contains all entries of another list, between 0 and most. It is 0 for an empty list.
func (as Amounts) Contains(each Amounts, most int64) int64 {
	if len(each) == 0 {
		return 0
	}
	for _, e := range each {
		if e.Amount.Sign() > 0 {
			most = as.Of(e.Dimension).dividedBy(e.Amount, most)
		}
	}
	return most
}

// copied returns a list that shares no memory with this one, nil if this one is empty. Unlike
// slices.Clone, it does not make the list escape to the heap.
func (as Amounts) copied() Amounts {
	if len(as) == 0 {
		return nil
	}
	list := make(Amounts, len(as))
	copy(list, as)
	return list
}

// is reports whether two lists have the same entries in the same order.
func (as Amounts) is(others Amounts) bool {
	return slices.Equal(as, others)
}
