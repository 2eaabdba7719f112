// SPDX-License-Identifier: Apache-2.0

package report

import (
	"container/list"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// urgency is the priority of an event. Events of one urgency are written in the order in which they became due.
type urgency int

const (
	// done events report actions of the dispatcher.
	done urgency = iota
	// changed events report a new state.
	changed
	// refreshed events repeat a known state with new numbers.
	refreshed

	urgencies = 3
)

// topic identifies what an event is about. At most one event of a topic waits to be written.
type topic struct {
	// object is a binding or a queue.
	object types.UID
	// notice says that the event is about the count, not about a decision.
	notice bool
}

// note is an event that waits to be written.
type note struct {
	topic   topic
	urgency urgency
	// objects are the objects that get the event.
	objects []*corev1.ObjectReference
	// eventType, reason, and message are the fields of the event.
	eventType, reason, message string
}

// backlog has the events that wait to be written. The latest event of a topic replaces earlier ones.
type backlog struct {
	lines [urgencies]list.List
	notes map[topic]*list.Element
}

// put adds an event. It takes the place of a waiting event of the same topic, unless the new one is more urgent.
func (b *backlog) put(n note) {
	if b.notes == nil {
		b.notes = map[topic]*list.Element{}
	}
	if waits := b.notes[n.topic]; waits != nil {
		if before := waits.Value.(note).urgency; before <= n.urgency {
			n.urgency = before
			waits.Value = n
			return
		}
		b.drop(n.topic)
	}
	b.notes[n.topic] = b.lines[n.urgency].PushBack(n)
}

// drop removes the event of a topic.
func (b *backlog) drop(t topic) {
	if waits := b.notes[t]; waits != nil {
		b.lines[waits.Value.(note).urgency].Remove(waits)
		delete(b.notes, t)
	}
}

// next removes and returns the first event. It returns false if there is none.
func (b *backlog) next() (note, bool) {
	for i := range b.lines {
		if first := b.lines[i].Front(); first != nil {
			n := first.Value.(note)
			b.drop(n.topic)
			return n, true
		}
	}
	return note{}, false
}
