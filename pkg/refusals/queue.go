// SPDX-License-Identifier: Apache-2.0

package refusals

import (
	"fmt"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// Refusal says why something waits.
type Refusal interface {
	// Reason is the reason of an event, empty if it does not deserve one.
	Reason() string
	// Message is the sentence for people.
	Message() string
}

// TakesPods returns a queue of the ledger, or why it takes no pods and no jobs. State is its status.state. Misplaced says why queues have no place
// in the tree.
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

// Message is the sentence for people.
func (q QueueMissing) Message() string {
	return fmt.Sprintf("Queue <%s> does not exist: create the queue, or submit the job to another one", q.Queue)
}

// QueueNotOpen refuses a pod or a job in a queue that is in another state than Open. A queue that was just created has
// no state.
type QueueNotOpen struct{ Queue, State string }

// Reason is the reason of the event. A queue that was just created is opened without anybody's help.
func (q QueueNotOpen) Reason() string {
	if q.State == "" {
		return ""
	}
	return UnschedulableReason
}

// Message is the sentence for people.
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

// Message is the sentence for people.
func (q QueueMisplaced) Message() string {
	return fmt.Sprintf("Queue <%s> takes no pods: %s", q.Queue, q.Why)
}

// QueueHasChildren refuses a pod or a job in a queue that is the parent of other queues.
type QueueHasChildren struct{ Queue string }

// Reason is the reason of the event.
func (QueueHasChildren) Reason() string { return UnschedulableReason }

// Message is the sentence for people.
func (q QueueHasChildren) Message() string {
	return fmt.Sprintf("Queue <%s> takes no pods, because other queues are below it: use one of those", q.Queue)
}

// PodGroupMissing refuses a pod whose PodGroup does not exist.
type PodGroupMissing struct{ Namespace, Name string }

// Message is the sentence for people.
func (g PodGroupMissing) Message() string {
	return fmt.Sprintf("PodGroup %s/%s does not exist: create it, or correct the annotation %s of the pod", g.Namespace, g.Name, schedulingv1beta1.KubeGroupNameAnnotationKey)
}
