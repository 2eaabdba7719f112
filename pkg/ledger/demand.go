package ledger

import "slices"

// Demand is all that one pod asks for. An empty demand asks for nothing and always fits. A part
// that is listed twice counts once.
type Demand []*Part

// requested returns what the uncharged parts of a demand ask for in the dimension of e, an entry of
// part i, which must not be charged. To visit each dimension once, callers skip entries for which
// first is false: a part before part i asks for the same dimension.
func (l *Ledger) requested(d Demand, i int, e *Entry) (sum Amount, first bool, err error) {
	if len(d) == 1 {
		return e.Amount, true, nil // for speed alone: most demands have one part
	}
	return l.requestedTogether(d, i, e.Dimension)
}

func (l *Ledger) requestedTogether(d Demand, i int, o Ordinal) (sum Amount, first bool, err error) {
	for j, p := range d {
		if l.Charged(p) || slices.Contains(d[:j], p) {
			continue
		}
		a := p.amounts.Of(o)
		if a == (Amount{}) {
			continue
		}
		if j < i {
			return Amount{}, false, nil
		}
		if sum, err = sum.Add(a); err != nil {
			return Amount{}, false, err
		}
	}
	return sum, true, nil
}
