// SPDX-License-Identifier: Apache-2.0

package ledger

import "slices"

// Demand is everything that one pod asks for. An empty demand always fits. A part that is listed twice counts once.
type Demand []*Part

// maxDimensions is the number of dimensions that a demand of several parts may have before asked allocates memory.
const maxDimensions = 16

// asked returns the sum of the parts of a demand that queue q does not pay for yet. It ignores alternatives. The result is
// read-only and may use the buffer.
func (l *Ledger) asked(q QueueID, d Demand, buffer *[maxDimensions]Entry) (Amounts, error) {
	sum := Amounts(buffer[:0])
	for i, p := range d {
		if l.PaidFor(q, p) || slices.Contains(d[:i], p) {
			continue
		}
		var err error
		if sum, err = sum.PlusAll(p.amounts); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// askedAlone is asked for a demand of one part. It does not copy.
func (l *Ledger) askedAlone(q QueueID, p *Part) Amounts {
	if l.PaidFor(q, p) {
		return nil
	}
	return p.amounts
}
