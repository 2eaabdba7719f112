// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// Hold is how a holder holds a part.
type Hold struct {
	// Queue is the queue that the part is charged to, which may be another one than that of the holder.
	Queue QueueID
	// Amounts is what the part comes to. It must not be changed.
	Amounts Amounts
	// Pays says that the charge stands for this holder. Otherwise it stands for another one.
	Pays bool
	// Promised says that the holder does not hold the part yet, see [Ledger.Pipeline].
	Promised bool
	// Releasing says that the holder is leaving, see [Ledger.Retain]. It pays only in the ledger that [Ledger.Held] returns.
	Releasing bool
}

// HoldOf returns how a holder holds a part; false if it does not. It says the same for a ledger and for what its method Held returns.
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
