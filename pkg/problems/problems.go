// SPDX-License-Identifier: Apache-2.0

package problems

import (
	"fmt"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Reasons of events on queues.
const (
	// QueueMisplacedReason says that a queue has no place in the tree, so that it takes no pods.
	QueueMisplacedReason = "QueueMisplaced"
	// QueueNotLeafReason says that a queue has jobs and is the parent of other queues.
	QueueNotLeafReason = "QueueNotLeaf"
	// GuaranteeNotCoveredReason says that siblings are guaranteed more than there is.
	GuaranteeNotCoveredReason = "GuaranteeNotCovered"
	// QuotaNotReadReason says that a quota of devices or cards cannot be read.
	QuotaNotReadReason = "QuotaNotRead"
	// QuotaFieldMissingReason says that the Queue CRD lost the field dra, so that the last valid quota holds.
	QuotaFieldMissingReason = "QuotaFieldMissing"
	// QuotaRemovalUnconfirmedReason says that spec.dra may have been removed by mistake, so that the last valid quota holds.
	QuotaRemovalUnconfirmedReason = "QuotaRemovalUnconfirmed"
	// QuotaNotSavedReason says that the scheduler cannot write the last valid quota to the queue.
	QuotaNotSavedReason = "QuotaNotSaved"
	// CannotReclaimReason says that a queue holds less than it deserves, and cannot take back the rest.
	CannotReclaimReason = "CannotReclaim"
)

// Problem is a kind of problem of a queue.
type Problem struct {
	Queue, Reason string
	// Harmless reports whether the message is only information.
	Harmless bool
}

// Problems has the message of each problem.
type Problems map[Problem]string

func (ps Problems) add(queue, reason, message string) {
	problem := Problem{Queue: queue, Reason: reason}
	if before := ps[problem]; before != "" && before != message {
		message = before + "; besides, " + message
	}
	ps[problem] = message
}

// NotLeaf adds that a queue has jobs although it is the parent of other queues.
func (ps Problems) NotLeaf(queue string) {
	ps.add(queue, QueueNotLeafReason, "The queue has jobs and is the parent of other queues, so that the scheduler does not schedule these jobs: move the jobs to a queue that has no children")
}

// Misplaced adds that a queue has no place in the hierarchy.
func (ps Problems) Misplaced(queue, why string) {
	ps.add(queue, QueueMisplacedReason, "The queue takes no pods: "+why)
}

// QuotaNotRead adds that a quota of a queue is invalid.
func (ps Problems) QuotaNotRead(queue string, err error) {
	ps.add(queue, QuotaNotReadReason, err.Error())
}

// DeviceKeysNotRead adds that a quota of devices among the resources of a queue is invalid.
func (ps Problems) DeviceKeysNotRead(queue string, err error) {
	ps.add(queue, QuotaNotReadReason, err.Error()+"; until then, the last valid values of such keys hold")
}

// CardsNotRead adds that an annotation of a queue for cards is invalid. LastHolds reports whether the last valid value applies.
func (ps Problems) CardsNotRead(queue, annotation string, err error, lastHolds bool) {
	until := "none of its pods may use a card"
	switch {
	case annotation == schedulingv1beta1.CardQuotaAnnotation && lastHolds:
		until = "its last valid quota holds"
	case lastHolds:
		until = "its last valid value holds"
	case annotation == schedulingv1beta1.CardDeservedAnnotation:
		until = "the queue deserves no cards beyond its guarantee"
	case annotation == schedulingv1beta1.CardGuaranteeAnnotation:
		until = "the queue is guaranteed no cards"
	}
	ps.add(queue, QuotaNotReadReason, err.Error()+"; until then, "+until)
}

// GuaranteeNotCovered adds that a guarantee of a queue cannot be kept. It adds only the first one.
func (ps Problems) GuaranteeNotCovered(queue string, u ledger.Uncovered) {
	if ps[Problem{Queue: queue, Reason: GuaranteeNotCoveredReason}] != "" {
		return
	}
	ps.add(queue, GuaranteeNotCoveredReason, fmt.Sprintf(
		"The queue's guarantee of %s cannot be kept: the queue and its siblings are guaranteed <%s>, but there is only <%s>: lower guarantees or add nodes",
		u.Dimension, u.Dimension.Format(u.Sum), u.Dimension.Format(u.Limit)))
}

// CannotReclaim adds that a queue does not get what it deserves. It adds only the first reason.
func (ps Problems) CannotReclaim(queue, message string) {
	if ps[Problem{Queue: queue, Reason: CannotReclaimReason}] == "" {
		ps.add(queue, CannotReclaimReason, message)
	}
}
