// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// Hold describes how a holder holds a part.
type Hold struct {
	// Queue is the queue that the part is charged to. It may differ from the queue of the holder.
	Queue QueueID
	// Amounts is the amounts of the part. Callers must not change them.
	Amounts Amounts
	// Pays reports whether this holder pays for the part. Otherwise, another holder pays.
	Pays bool
	// Promised reports whether the holder does not hold the part yet, see [Ledger.Pipeline].
	Promised bool
	// Releasing reports whether the holder is leaving, see [Ledger.Retain]. It pays only in the ledger that [Ledger.Held] returns.
	Releasing bool
}

// HoldOf returns how a holder holds a part. It returns false if the holder does not hold it. Ledgers that Held returns give the same
// result.
func (l *Ledger) HoldOf(p *Part, holder Holder) (Hold, bool) {
	c := l.record(p)
	is := func(h hold) bool { return h.holder == holder }
	if i := slices.IndexFunc(c.holds, is); i >= 0 {
		return Hold{Queue: c.holds[i].queue, Amounts: c.amounts, Pays: i == 0, Promised: c.holds[i].pipelined}, true
	}
	if i := slices.IndexFunc(c.releasing, is); i >= 0 {
		return Hold{Queue: c.releasing[i].queue, Amounts: p.amounts, Pays: len(c.holds) == 0, Releasing: true}, true
	}
	return Hold{}, false
}
