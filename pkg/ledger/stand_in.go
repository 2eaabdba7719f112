// SPDX-License-Identifier: Apache-2.0

package ledger

// StandIn returns the part that keeps room in queue q for a part that q does not pay for yet. Its holders in q share it. If none is charged, StandIn
// returns a new one. It changes nothing: charge the result like any other part.
func (l *Ledger) StandIn(q QueueID, p *Part) *Part {
	if s := l.chargedStandIn(q, p); s != nil {
		return s
	}
	return &Part{amounts: p.amounts, standsFor: p}
}

// PaidFor reports whether a new holder of queue q gets the part without more room: the part is charged, or its stand-in in q is.
func (l *Ledger) PaidFor(q QueueID, p *Part) bool {
	return l.Charged(p) || l.chargedStandIn(q, p) != nil
}

func (l *Ledger) chargedStandIn(q QueueID, p *Part) *Part {
	for _, s := range l.standIns(p) {
		if queue, _, charged := l.Payer(s); charged && queue == q {
			return s
		}
	}
	return nil
}

func (l *Ledger) standIns(p *Part) []*Part {
	if l.overlay == nil && p.ledger == l.id {
		return p.charge.standIns // for speed alone: record copies the charge
	}
	return l.record(p).standIns
}

// noteStandIn adds a charged stand-in to the part that it stands for, in the place of those that are not charged any more.
func (l *Ledger) noteStandIn(s *Part) {
	if s.standsFor == nil {
		return
	}
	charged := []*Part{s}
	for _, other := range l.standIns(s.standsFor) {
		if other != s && l.Charged(other) {
			charged = append(charged, other)
		}
	}
	l.setStandIns(s.standsFor, charged)
}
