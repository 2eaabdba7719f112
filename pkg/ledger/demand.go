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

// Of returns the amount of dimension o, zero when it is not listed.
func (as Amounts) Of(o Ordinal) Amount {
	for i := range as {
		if as[i].Dimension == o {
			return as[i].Amount
		}
	}
	return Amount{}
}

// Key identifies one charge: the UID of a claim for devices, the UID of a pod for what the
// pod alone takes.
type Key string

// Part is the part of a demand that is charged under one key, once, whoever shares it.
type Part struct {
	Key     Key
	Amounts Amounts
}

// Demand is all that one pod asks for. An empty demand asks for nothing and always fits.
type Demand []Part
