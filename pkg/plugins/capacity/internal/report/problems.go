// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Reasons of the events on queues.
const (
	QueueMisplacedReason          = "QueueMisplaced"
	QueueNotLeafReason            = "QueueNotLeaf"
	GuaranteeNotCoveredReason     = "GuaranteeNotCovered"
	QuotaNotReadReason            = "QuotaNotRead"
	QuotaFieldMissingReason       = "QuotaFieldMissing"
	QuotaRemovalUnconfirmedReason = "QuotaRemovalUnconfirmed"
	QuotaNotSavedReason           = "QuotaNotSaved"
)

// problemReasons are the reasons of all problems. The metric has each of them, also if no queue has the problem.
var problemReasons = []string{
	QueueMisplacedReason, QueueNotLeafReason, GuaranteeNotCoveredReason, QuotaNotReadReason,
	ClassInCapabilityReason, UnknownDeviceClassReason, UnknownCardReason, UnknownAnnotationReason, LimitAboveParentReason,
	CardNotListedReason, ContradictoryCardsReason,
	ClassesOverlapReason, InvalidDeviceClassReason,
	QuotaFieldMissingReason, QuotaRemovalUnconfirmedReason, QuotaNotSavedReason,
	ReclaimNotConfiguredReason, ReclaimIgnoresDeservedReason, CannotReclaimReason,
}

var problemQueues = promauto.NewGaugeVec(prometheus.GaugeOpts{
	Name: "volcano_queue_problems",
	Help: "Number of queues that have a problem, by the reason of the event on them",
}, []string{"reason"})

// Problem names a kind of problem that a queue has.
type Problem struct {
	Queue, Reason string
	// Harmless says that the queue is told something that is no problem.
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

// CardsNotRead adds that an annotation of a queue that lists cards is invalid. LastHolds says that the last valid one holds.
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

// GuaranteeNotCovered adds that a guarantee of a queue cannot be kept. Only the first one is reported.
func (ps Problems) GuaranteeNotCovered(queue string, u ledger.Uncovered) {
	if ps[Problem{Queue: queue, Reason: GuaranteeNotCoveredReason}] != "" {
		return
	}
	ps.add(queue, GuaranteeNotCoveredReason, fmt.Sprintf(
		"The queue's guarantee of %s cannot be kept: the queue and its siblings are guaranteed <%s>, but there is only <%s>: lower guarantees or add nodes",
		u.Dimension, u.Dimension.Format(u.Sum), u.Dimension.Format(u.Limit)))
}

// Problems writes an event on each queue that has a new problem, and counts the queues.
func (r *Reporter) Problems(problems Problems, queues map[api.QueueID]*api.QueueInfo) {
	counts := map[string]int{}
	for _, reason := range problemReasons {
		counts[reason] = 0
	}
	for problem, message := range problems {
		if !problem.Harmless {
			counts[problem.Reason]++
		}
		if r.toldQueues[problem] == message {
			continue
		}
		eventType := corev1.EventTypeWarning
		if problem.Harmless {
			eventType = corev1.EventTypeNormal
			klog.InfoS("A queue is told something", "queue", problem.Queue, "reason", problem.Reason, "message", message)
		} else {
			klog.ErrorS(nil, "A queue has a problem", "queue", problem.Queue, "reason", problem.Reason, "message", message)
		}
		if info, found := queues[api.QueueID(problem.Queue)]; found {
			r.Recorder.Event(queueReference(info.Queue.Name, info.Queue.UID), eventType, problem.Reason, message)
		}
	}
	r.toldQueues = problems
	for reason, n := range counts {
		problemQueues.WithLabelValues(reason).Set(float64(n))
	}
}

func queueReference(name string, uid types.UID) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: schedulingv1beta1.SchemeGroupVersion.String(), Kind: "Queue", Name: name, UID: uid}
}
