// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"strings"
)

// Refusal says why a demand does not fit. It names a queue on the way to the root, the dimension and the amounts.
type Refusal struct {
	// Queue is the name of the queue without room.
	Queue string
	// Dimension is the dimension without room. If a [Split] is refused, its name joins several dimensions with "|".
	Dimension Dimension
	// Requested is the amount that the demand asks for, in addition to the amount that the queue holds.
	Requested Amount
	// WouldBe is the total that the queue would hold.
	WouldBe Amount
	// Committed lists the terms of WouldBe besides Requested. It is nil if pods hold all of the rest.
	Committed *Committed
	// Limit is the capability that causes the refusal. It belongs to the queue, or to the nearest ancestor whose
	// capability is its limit, or is the cluster's total. If a [Split] is refused, it is the sum over its dimensions.
	Limit Amount
	// Guaranteed is the part of Limit that is guaranteed to other queues. It is never negative. The queue may have
	// Limit - Guaranteed. WouldBe exceeds this, unless the shares are too large.
	Guaranteed Amount
}

// Committed is the amount that a queue cannot give to another job: Allocated + Inqueue - Elastic.
type Committed struct {
	// Allocated is the amount that pods hold. Inqueue is the amount that admitted jobs may still take. Elastic is the
	// amount that jobs hold beyond their minimum.
	Allocated, Inqueue, Elastic Amount
}

// NeverFits ends the sentence of a request for which no pod that ends makes enough room.
const NeverFits = "; this does not fit even when the queue is empty: ask for less, or for more quota"

// totalWouldBe begins the part of the sentence that says what the queue uses: the total, and its terms in parentheses.
const totalWouldBe = "total would be <"

// TooLarge reports whether the request alone exceeds what the queue may have.
func (r Refusal) TooLarge() bool {
	usable, err := r.Limit.Sub(r.Guaranteed)
	return err == nil && r.Requested.Cmp(usable) > 0
}

// String returns the sentence that users see in events and conditions.
func (r Refusal) String() string {
	format := r.Dimension.Format
	sentence := fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <%s>, "+totalWouldBe+"%s>%s, but capability is <%s>",
		r.Queue, r.Dimension, format(r.Requested), format(r.WouldBe), r.committed(), format(r.Limit))
	verb := "is"
	if r.Guaranteed.Sign() > 0 {
		sentence += fmt.Sprintf(", of which <%s> is guaranteed to others", format(r.Guaranteed))
		verb = "leaves"
	}
	if usable, err := r.Limit.Sub(r.Guaranteed); err == nil && r.WouldBe.Cmp(usable) <= 0 {
		sentence += fmt.Sprintf(", which %s enough in sum but not for shares of the size that is asked for", verb)
	}
	if r.Limit.Sign() > 0 && r.TooLarge() {
		sentence += NeverFits
	}
	return sentence
}

// SameButForUsage reports whether two messages differ at most in what the queues of their refusals use, which changes whenever something
// starts or ends there.
func SameButForUsage(a, b string) bool {
	for {
		before, after, uses := cutUsage(a)
		otherBefore, otherAfter, otherUses := cutUsage(b)
		if before != otherBefore || uses != otherUses {
			return false
		}
		if !uses {
			return true
		}
		a, b = after, otherAfter
	}
}

// cutUsage returns what stands before and after the first total in a message, and whether there is one.
func cutUsage(message string) (before, after string, found bool) {
	before, after, found = strings.Cut(message, totalWouldBe)
	_, after, _ = strings.Cut(after, ">")
	if strings.HasPrefix(after, " (") {
		_, after, _ = strings.Cut(after, ")")
	}
	return before, after, found
}

// committed returns the terms of the total, if the visible pods do not explain it.
func (r Refusal) committed() string {
	c := r.Committed
	if c == nil || c.Inqueue.Sign() == 0 {
		return ""
	}
	format := r.Dimension.Format
	parts := fmt.Sprintf("<%s> allocated, <%s> let in", format(c.Allocated), format(c.Inqueue))
	if c.Elastic.Sign() > 0 {
		parts += fmt.Sprintf(", less <%s> that jobs hold beyond their minimum", format(c.Elastic))
	}
	return " (" + parts + ")"
}

// refuse returns the refusal of a queue that has no room for an entry. The check itself skips these numbers, because
// they take longer than the comparison.
func (l *Ledger) refuse(q QueueID, short *Entry) *Refusal {
	limit := l.limitAt(q, short.Dimension, withAncestors)
	total, _ := l.usedOf(limit, q, short.Dimension).Add(short.Amount)
	return l.refusal(q, *short, total)
}

func (l *Ledger) refusal(q QueueID, short Entry, total Amount) *Refusal {
	capability, guaranteed := l.origin(q, short.Dimension)
	return &Refusal{
		Queue: l.queues[q].name, Dimension: l.dimensions.Dimension(short.Dimension),
		Requested: short.Amount, WouldBe: total, Limit: capability, Guaranteed: guaranteed,
	}
}

// origin returns the capability that the limit of a queue comes from, and the part of it that is guaranteed to other
// queues. The difference is the limit, which must be set. The capability belongs to the queue, or to the nearest
// ancestor whose capability is its limit, or is the cluster's total.
func (l *Ledger) origin(q QueueID, o Ordinal) (capability, guaranteed Amount) {
	limit := l.limitAt(q, o, withAncestors).Amount
	if l.forbidden(q, o) {
		return limit, Amount{} // no list has the card or the device class
	}
	capability = l.total.Of(o)
	for id := q; id != none; id = l.queues[id].parent {
		if own := l.Capability(id, o); own.Set && own == l.Limit(id, o) {
			capability = own.Amount
			break
		}
	}
	guaranteed, err := capability.Sub(limit)
	if err != nil || guaranteed.Sign() < 0 {
		return limit, Amount{} // the guarantee of the queue or an ancestor is not covered
	}
	return capability, guaranteed
}
