// SPDX-License-Identifier: Apache-2.0

package refusals

import (
	"fmt"
	"strings"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Refusal says why a pod or a job waits.
type Refusal interface {
	// Reason is the reason of an event. It is empty if the refusal needs no event.
	Reason() string
	// Message is the sentence for users.
	Message() string
}

// TakesPods returns the ID of a queue in the ledger, or the reason why the queue takes no pods and jobs. state is its status.state. misplaced says
// why queues have no place in the tree.
func TakesPods(books *ledger.Ledger, misplaced map[string]string, queue, state string) (ledger.QueueID, Refusal) {
	id, found := books.Queue(queue)
	switch {
	case state != string(schedulingv1beta1.QueueStateOpen):
		return 0, QueueNotOpen{Queue: queue, State: state}
	case !found:
		return 0, QueueMisplaced{Queue: queue, Why: misplaced[queue]}
	case !books.Leaf(id):
		return 0, QueueHasChildren{Queue: queue}
	default:
		return id, nil
	}
}

// QueueMissing refuses a job whose queue does not exist.
type QueueMissing struct{ Queue string }

// Reason is the reason of the event.
func (QueueMissing) Reason() string { return QueueNotFoundReason }

// Message is the sentence for users.
func (q QueueMissing) Message() string {
	if q.Queue == "" {
		return "The job names no queue, and Volcano's webhook, which would write one, has not seen it: set spec.queue"
	}
	return fmt.Sprintf("Queue <%s> does not exist: create the queue, or submit the job to another one", q.Queue)
}

// QueueNotOpen refuses a pod or a job in a queue with a state other than Open. A new queue has no state.
type QueueNotOpen struct{ Queue, State string }

// Reason is the reason of the event. It is empty for a new queue, because controllers will open it.
func (q QueueNotOpen) Reason() string {
	if q.State == "" {
		return ""
	}
	return UnschedulableReason
}

// Message is the sentence for users.
func (q QueueNotOpen) Message() string {
	if q.State == "" {
		return fmt.Sprintf("Queue <%s> takes no pods yet: Volcano's controllers have not opened it", q.Queue)
	}
	return fmt.Sprintf("Queue <%s> takes no pods: its state is %q, not Open", q.Queue, q.State)
}

// QueueMisplaced refuses a pod or a job in a queue that has no place in the hierarchy.
type QueueMisplaced struct{ Queue, Why string }

// Reason is the reason of the event.
func (QueueMisplaced) Reason() string { return UnschedulableReason }

// Message is the sentence for users.
func (q QueueMisplaced) Message() string {
	return fmt.Sprintf("Queue <%s> takes no pods: %s", q.Queue, q.Why)
}

// QueueHasChildren refuses a pod or a job in a queue with children.
type QueueHasChildren struct{ Queue string }

// Reason is the reason of the event.
func (QueueHasChildren) Reason() string { return UnschedulableReason }

// Message is the sentence for users.
func (q QueueHasChildren) Message() string {
	return fmt.Sprintf("Queue <%s> takes no pods, because other queues are below it: use one of those", q.Queue)
}

// OtherScheduler refuses a job whose pods are for a scheduler other than the named ones. They would start past every quota, and the job would
// hold what it needs until then.
type OtherScheduler struct {
	// Subject is job or pod.
	Subject, Scheduler string
	Names              []string
}

// Reason is the reason of the event.
func (OtherScheduler) Reason() string { return UnschedulableReason }

// Message is the sentence for users.
func (o OtherScheduler) Message() string {
	return fmt.Sprintf("The %s is for scheduler %q: set spec.schedulerName to %s", o.Subject, o.Scheduler, strings.Join(o.Names, " or "))
}

// WithoutPodGroup says that a job or pod waits, because it has no PodGroup.
type WithoutPodGroup struct{ Subject string }

// Reason is empty: usually, the PodGroup comes at once.
func (WithoutPodGroup) Reason() string { return "" }

// Message is the sentence for users.
func (w WithoutPodGroup) Message() string {
	return fmt.Sprintf("The %s has no PodGroup yet: Volcano's controllers create one for it, see whether they run", w.Subject)
}

// PodGroupMissing refuses a pod whose PodGroup does not exist.
type PodGroupMissing struct{ Namespace, Name string }

// Reason is empty: the scheduler writes no event.
func (PodGroupMissing) Reason() string { return "" }

// Message is the sentence for users.
func (g PodGroupMissing) Message() string {
	return fmt.Sprintf("PodGroup %s/%s does not exist: create it, or correct the annotation %s of the pod", g.Namespace, g.Name, schedulingv1beta1.KubeGroupNameAnnotationKey)
}
