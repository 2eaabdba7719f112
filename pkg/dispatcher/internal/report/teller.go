// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// refreshAfter is how long an event may show old numbers. The numbers of all workloads of a queue change whenever one of them starts or ends.
const refreshAfter = 10 * time.Minute

// told is the last report about a workload.
type told struct {
	// news, message, and time belong to the last decision. They are empty if there was none.
	news    news
	message string
	time    time.Time
	// notice is the last notice about the count.
	notice string
	// cycle is the last cycle that had the workload.
	cycle uint64
}

// teller remembers reports to report only news. It is not safe for concurrent use.
type teller struct {
	events *Events
	told   map[types.UID]*told
	cycle  uint64
	// due is when the first event with outdated numbers may be refreshed, zero if there is none.
	due time.Time
	// queues says why the quota of a queue cannot be read, by the UID of the queue.
	queues map[types.UID]string
}

// begin begins a cycle. It forgets workloads that are gone.
func (t *teller) begin(snapshot *framework.Snapshot) {
	if t.told == nil {
		t.told = map[types.UID]*told{}
	}
	t.cycle++
	t.due = time.Time{}
	for _, w := range snapshot.Workloads {
		last := t.told[w.Binding.UID]
		if last == nil {
			last = &told{}
			t.told[w.Binding.UID] = last
			if w.State.Finished { // it ended under an earlier dispatcher
				d := Finished(w)
				last.news, last.message = d.news(), d.Message
			}
		}
		last.cycle = t.cycle
		t.tellNotice(w, noticeOf(w, snapshot), last)
	}
	for uid, last := range t.told {
		if last.cycle != t.cycle {
			delete(t.told, uid)
			t.events.forget(uid)
		}
	}
}

// noticeOf says what is counted in place of things that could not be read. It is usually empty.
func noticeOf(w *framework.Workload, snapshot *framework.Snapshot) string {
	if w.Err != nil {
		return ""
	}
	if w.Template == nil || w.Template.PriorityClass == "" || snapshot.PriorityClasses[w.Template.PriorityClass] != nil {
		return w.Needs.Notice
	}
	missing := fmt.Sprintf("PriorityClass %s does not exist, so that the default priority counts: create it on Karmada's API server, or correct the name", w.Template.PriorityClass)
	if w.Needs.Notice == "" {
		return missing
	}
	return w.Needs.Notice + "; " + missing
}

// tellNotice reports a notice once.
func (t *teller) tellNotice(w *framework.Workload, notice string, last *told) {
	if notice == "" || last.notice == notice {
		return
	}
	last.notice = notice
	t.events.tell(note{
		topic: topic{w.Binding.UID, true}, urgency: changed, objects: objectsOf(w),
		eventType: corev1.EventTypeWarning, reason: NeedsEstimatedReason, message: bounded(notice),
	})
}

// tell reports a decision of the cycle. It returns whether the decision is news.
func (t *teller) tell(d *Decision, now time.Time) bool {
	last := t.told[d.Workload.Binding.UID]
	if last == nil || d.Kind == "" {
		return false // the binding is not in the cycle, or there is nothing to report
	}
	how := done
	if d.Kind.lasts() {
		how = changed
		if last.news == d.news() {
			if last.message == d.Message {
				return false
			}
			if until := last.time.Add(refreshAfter); until.After(now) {
				if t.due.IsZero() || until.Before(t.due) {
					t.due = until
				}
				return false
			}
			how = refreshed
		}
	}
	last.news, last.message, last.time = d.news(), d.Message, now
	b := d.Workload.Binding
	t.events.tell(note{topic: topic{object: b.UID}, urgency: how, objects: objectsOf(d.Workload), eventType: d.Type, reason: d.Reason, message: d.Message})
	return how != refreshed
}

// tellQueues reports the queues whose quotas cannot be read.
func (t *teller) tellQueues(snapshot *framework.Snapshot) {
	queues := map[types.UID]string{}
	for name, queue := range snapshot.Queues {
		err := snapshot.Limits[name].Err
		if err == nil {
			continue
		}
		message := bounded(err.Error() + "; until then, nothing more is granted in the queue")
		queues[queue.UID] = message
		if t.queues[queue.UID] != message {
			t.events.tell(note{
				topic: topic{object: queue.UID}, urgency: changed, objects: []*corev1.ObjectReference{queueReference(queue)},
				eventType: corev1.EventTypeWarning, reason: QuotaNotReadReason, message: message,
			})
		}
	}
	for uid := range t.queues {
		if queues[uid] == "" {
			t.events.forget(uid)
		}
	}
	t.queues = queues
}

func queueReference(queue *schedulingv1beta1.Queue) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: schedulingv1beta1.SchemeGroupVersion.String(), Kind: "Queue", Name: queue.Name, UID: queue.UID, ResourceVersion: queue.ResourceVersion,
	}
}
