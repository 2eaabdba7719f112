// SPDX-License-Identifier: Apache-2.0

package ledger

import "fmt"

// Refusal says why a demand does not fit: which queue on the way to the root has no room, in which
// dimension, and the numbers.
type Refusal struct {
	// Queue is the name of the queue that has no room.
	Queue string
	// Dimension is what is short. If a [Split] is refused, its name joins several dimensions with "|".
	Dimension Dimension
	// Requested is what the demand asks for in addition to what the queue holds.
	Requested Amount
	// WouldBe is what the queue would hold in all.
	WouldBe Amount
	// Committed is what WouldBe consists of besides what is requested. It is nil if that is only what pods hold.
	Committed *Committed
	// Limit is the capability that the refusal comes from: the queue's own, that of its nearest
	// ancestor whose capability is its limit, or the cluster's total. If a [Split] is refused, it is
	// the sum over its dimensions.
	Limit Amount
	// Guaranteed is how much of Limit is guaranteed to other queues. It is never negative. The queue
	// may have Limit - Guaranteed. WouldBe exceeds that, unless the refusal is about the size of
	// shares.
	Guaranteed Amount
}

// Committed is what a queue cannot give to a further job: Allocated + Inqueue - Elastic.
type Committed struct {
	// Allocated is what pods hold, Inqueue is what jobs that were admitted may still take, and Elastic is what jobs
	// hold beyond their minimum.
	Allocated, Inqueue, Elastic Amount
}

// String returns the sentence that users see in events and conditions.
func (r Refusal) String() string {
	format := r.Dimension.Format
	sentence := fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <%s>, total would be <%s>%s, but capability is <%s>",
		r.Queue, r.Dimension, format(r.Requested), format(r.WouldBe), r.committed(), format(r.Limit))
	verb := "is"
	if r.Guaranteed.Sign() > 0 {
		sentence += fmt.Sprintf(", of which <%s> is guaranteed to others", format(r.Guaranteed))
		verb = "leaves"
	}
	if usable, err := r.Limit.Sub(r.Guaranteed); err == nil && r.WouldBe.Cmp(usable) <= 0 {
		sentence += fmt.Sprintf(", which %s enough in sum but not for shares of the size that is asked for", verb)
	}
	return sentence
}

// committed returns what the total consists of, if the pods that people can see do not explain it.
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

// refuse returns the refusal of a queue that has no room for an entry. The check itself does not look
// for the numbers, which takes longer than the comparison.
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

// origin returns the capability that the limit of a queue comes from, and how much of it is
// guaranteed to other queues. The difference is the limit, which must be set. The capability is the
// queue's own, that of the nearest ancestor whose capability is its limit, or the cluster's total.
func (l *Ledger) origin(q QueueID, o Ordinal) (capability, guaranteed Amount) {
	limit := l.limitAt(q, o, withAncestors).Amount
	if l.forbidden(q, o) {
		return limit, Amount{} // no list has the card
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
		return limit, Amount{} // the guarantee of the queue or of an ancestor is not covered
	}
	return capability, guaranteed
}
