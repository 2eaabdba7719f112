package ledger

// Entry is an amount of one dimension.
type Entry struct {
	Dimension Ordinal
	Amount    Amount
}

// Amounts is a short list of entries, at most one for each dimension. Build it with Plus.
type Amounts []Entry

// Plus returns the amounts with a more of dimension o. It may change and reuse the list
// that it is called on. A sum that does not fit is ErrOverflow.
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

// PlusAll returns the amounts with all of the others added, as Plus does.
func (as Amounts) PlusAll(others Amounts) (Amounts, error) {
	var err error
	for _, e := range others {
		if as, err = as.Plus(e.Dimension, e.Amount); err != nil {
			return nil, err
		}
	}
	return as, nil
}

// Of returns the amount of dimension o, zero when it is not listed.
func (as Amounts) Of(o Ordinal) Amount {
	for i := range as {
		if as[i].Dimension == o {
			return as[i].Amount
		}
	}
	return Amount{}
}

// Beyond appends to a list, which may be nil, by how much the amounts exceed the others;
// dimensions in which they do not are left out.
func (as Amounts) Beyond(others, list Amounts) Amounts {
	for _, e := range as {
		if excess, err := e.Amount.Sub(others.Of(e.Dimension)); err == nil && excess.Sign() > 0 {
			list = append(list, Entry{Dimension: e.Dimension, Amount: excess})
		}
	}
	return list
}

// Holder identifies who holds a part: the UID of a pod.
type Holder string

type hold struct {
	holder Holder
	queue  QueueID
}

// Part is the part of a demand that is charged once, whoever shares it: what one pod takes
// for itself, or what one claim takes. Its identity is its address, so keep it as long as
// its pod or claim lives, from one ledger to the next. At any time one ledger, and views of
// it, may use it: a charge in a new ledger forgets all charges in older ones.
type Part struct {
	// Amounts must not change while the part is charged.
	Amounts Amounts
	// Alternatives are what the part takes one of besides Amounts, the preferred one first;
	// empty when there is nothing to choose. To charge the part, add the chosen one to Amounts
	// and empty this list: what a queue holds is never a question of preference.
	Alternatives []Amounts

	// ledger is where holds are valid; they are empty everywhere else.
	ledger uint64
	holds  []hold
}

// Demand is all that one pod asks for. An empty demand asks for nothing and always fits.
type Demand []*Part
