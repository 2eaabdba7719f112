// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"maps"
	"slices"
)

// Line has those who wait for a turn. The zero value is empty.
type Line struct {
	// waiting are those who wait, those first that have waited longest.
	waiting []waiter
	names   map[string]bool
	// last is in which turn each queue was served last. It is zero for a queue that was not, or long ago.
	last map[string]int
	// turns counts the turns.
	turns int
}

type waiter struct{ queue, name string }

// longAgo is after how many turns it is forgotten when a queue was served.
const longAgo = 10_000

// Len returns how many wait.
func (l *Line) Len() int { return len(l.waiting) }

// Join lets a name of a queue wait, unless it does already.
func (l *Line) Join(queue, name string) {
	if l.names[name] {
		return
	}
	if l.names == nil {
		l.names, l.last = map[string]bool{}, map[string]int{}
	}
	l.names[name], l.waiting = true, append(l.waiting, waiter{queue, name})
}

// Keep drops those who need not wait any more.
func (l *Line) Keep(waits func(name string) bool) {
	l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool {
		if waits(w.name) {
			return false
		}
		delete(l.names, w.name)
		return true
	})
}

// Take gives so many a turn, if as many wait, and returns their names. They do not wait any more. Each turn goes to the queue whose last turn was
// longest ago, and there to the one who has waited longest.
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
