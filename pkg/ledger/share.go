package ledger

import "cmp"

// Share is how much of its deserved amounts a queue holds, in the dimension in which that
// is most: 1 is all of them. A queue that deserves nothing has a share of 1, so that it comes
// after all queues that have not got what they deserve.
func (l *Ledger) Share(q QueueID) float64 {
	if !l.Deserves(q) {
		return 1
	}
	share := 0.0
	for o, deserved := range l.queues[q].deserved {
		if deserved.Amount.Sign() > 0 {
			share = max(share, l.Balance(q, Allocated, Ordinal(o)).float()/deserved.Amount.float())
		}
	}
	return share
}

// Deserves reports whether the queue deserves anything at all.
func (l *Ledger) Deserves(q QueueID) bool {
	for o, deserved := range l.queues[q].deserved {
		if deserved.Amount.Sign() > 0 && !l.dimensions.names[o].uncapped() {
			return true
		}
	}
	return false
}

// CompareShare is negative when queue a comes before queue b: it has the smaller share or, at
// equal shares, it deserves something and b does not.
func (l *Ledger) CompareShare(a, b QueueID) int {
	if c := cmp.Compare(l.Share(a), l.Share(b)); c != 0 {
		return c
	}
	switch deserves := l.Deserves(a); {
	case deserves == l.Deserves(b):
		return 0
	case deserves:
		return -1
	default:
		return 1
	}
}

// Branches returns the ancestors of two queues, or the queues themselves, right below the
// lowest ancestor that both have: where their ways part.
func (l *Ledger) Branches(a, b QueueID) (QueueID, QueueID) {
	depth := int32(l.CommonDepth(a, b))
	return l.ancestor(a, depth), l.ancestor(b, depth)
}

// MayReclaim reports whether the queue may take back from others to carry the demand: in
// one of the dimensions asked for it would still hold no more than it deserves.
func (l *Ledger) MayReclaim(q QueueID, d Demand) bool {
	for i, p := range d {
		for j := range p.amounts {
			e := &p.amounts[j]
			deserved := l.Deserved(q, e.Dimension)
			if !deserved.Set || l.dimensions.names[e.Dimension].uncapped() {
				continue
			}
			requested, first, err := l.requested(d, i, e)
			if err != nil || !first || requested.Sign() <= 0 {
				continue
			}
			total, err := l.Balance(q, Allocated, e.Dimension).Add(requested)
			if err == nil && !deserved.exceededBy(total) {
				return true
			}
		}
	}
	return false
}

// MayLose reports whether the queue can be asked to give these amounts back: it keeps what it
// is guaranteed, and it deserves nothing of the kind or has more than it deserves in one of
// the dimensions.
func (l *Ledger) MayLose(q QueueID, as Amounts) bool {
	for _, e := range l.queues[q].guarantee {
		if e.Amount.Sign() <= 0 {
			continue
		}
		kept, err := l.Balance(q, Allocated, e.Dimension).Sub(as.Of(e.Dimension))
		if err != nil || kept.Cmp(e.Amount) < 0 {
			return false
		}
	}
	deservesAny := false
	for _, e := range as {
		deserved := l.Deserved(q, e.Dimension)
		if !deserved.Set || e.Amount.Sign() <= 0 {
			continue
		}
		if deserved.exceededBy(l.Balance(q, Allocated, e.Dimension)) {
			return true
		}
		deservesAny = deservesAny || deserved.Amount.Sign() > 0
	}
	return !deservesAny
}

// Bottleneck returns the lowest proper ancestor of the queue that cannot carry the demand;
// false when all can. Only what is given back below it can make room there.
func (l *Ledger) Bottleneck(q QueueID, d Demand) (QueueID, bool) {
	for id := l.queues[q].parent; id != none; id = l.queues[id].parent {
		if !l.FitsAlone(id, d) {
			return id, true
		}
	}
	return none, false
}
