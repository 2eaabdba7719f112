// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// Entry is an amount of one dimension.
type Entry struct {
	Dimension Ordinal
	Amount    Amount
}

// Amounts is a short list of entries, with at most one entry per dimension. A nil list is empty. Build a list with Plus.
type Amounts []Entry

// Plus returns the list with amount a of dimension o added. It may change and reuse its receiver. The error is ErrOverflow.
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

// Times returns a new list with each entry multiplied by n, or ErrOverflow.
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

// Max returns the larger amount of the two lists for each dimension. It may change and reuse its receiver.
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

// PlusPart returns the list with all entries of a part added, as PlusAll does. It ignores the alternatives of the part.
func (as Amounts) PlusPart(p *Part) (Amounts, error) {
	return as.PlusAll(p.amounts)
}

// Of returns the amount of dimension o, or zero if the list does not contain o.
func (as Amounts) Of(o Ordinal) Amount {
	for i := range as {
		if as[i].Dimension == o {
			return as[i].Amount
		}
	}
	return Amount{}
}

// Beyond appends to a list, which may be nil, the excess of each entry over the same dimension of the others. It leaves
// out dimensions without an excess.
func (as Amounts) Beyond(others, list Amounts) Amounts {
	for _, e := range as {
		if excess, err := e.Amount.Sub(others.Of(e.Dimension)); err == nil && excess.Sign() > 0 {
			list = append(list, Entry{Dimension: e.Dimension, Amount: excess})
		}
	}
	return list
}

// Contains returns how many times all entries of another list fit into the list. The result is between 0 and most, and 0 for an empty list.
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

// copied returns a list that shares no memory with this one, or nil if this one is empty. Unlike slices.Clone, it does
// not make the list escape to the heap.
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
