// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"maps"
	"slices"
)

// Line holds the names that wait for a turn. The zero value is empty.
type Line struct {
	// waiting lists the waiting names, longest wait first.
	waiting []waiter
	names   map[string]bool
	// last is the last turn of each queue. It is zero for a queue without a recent turn.
	last map[string]int
	// turns counts the turns.
	turns int
}

type waiter struct{ queue, name string }

// longAgo is the number of turns after which the last turn of a queue is forgotten.
const longAgo = 10_000

// Len returns the number of waiting names.
func (l *Line) Len() int { return len(l.waiting) }

// Join adds a name of a queue, unless it already waits.
func (l *Line) Join(queue, name string) {
	if l.names[name] {
		return
	}
	if l.names == nil {
		l.names, l.last = map[string]bool{}, map[string]int{}
	}
	l.names[name], l.waiting = true, append(l.waiting, waiter{queue, name})
}

// Keep drops names that no longer need to wait.
func (l *Line) Keep(waits func(name string) bool) {
	l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool {
		if waits(w.name) {
			return false
		}
		delete(l.names, w.name)
		return true
	})
}

// Take removes up to most names from the line and returns them. Each turn goes to the queue with the longest time since its last turn, and there
// to the name with the longest wait.
func (l *Line) Take(most int) []string {
	var taken []string
	for ; len(taken) < most && len(l.waiting) > 0; l.turns++ {
		next := 0
		for i, w := range l.waiting {
			if l.last[w.queue] < l.last[l.waiting[next].queue] {
				next = i
			}
		}
		w := l.waiting[next]
		l.waiting = slices.Delete(l.waiting, next, next+1)
		delete(l.names, w.name)
		l.last[w.queue], taken = l.turns+1, append(taken, w.name)
	}
	maps.DeleteFunc(l.last, func(_ string, turn int) bool { return turn+longAgo < l.turns })
	return taken
}
