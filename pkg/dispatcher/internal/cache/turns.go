// SPDX-License-Identifier: Apache-2.0

package cache

import "sync"

// turns lets one request count at a time. Of each namespace, only one waits for that, in the order in which they came: by many requests, a user keeps only
// those of the same namespace waiting.
type turns struct {
	counts chan struct{}

	mu sync.Mutex
	of map[string]*turn
}

// turn is the turn of a namespace. Wanted is how many requests want it or have it.
type turn struct {
	one    chan struct{}
	wanted int
}

func newTurns() *turns { return &turns{counts: make(chan struct{}, 1), of: map[string]*turn{}} }

// take returns when it is the turn of a request of a namespace. The request must call end.
func (t *turns) take(namespace string) (end func()) {
	t.mu.Lock()
	own := t.of[namespace]
	if own == nil {
		own = &turn{one: make(chan struct{}, 1)}
		t.of[namespace] = own
	}
	own.wanted++
	t.mu.Unlock()
	own.one <- struct{}{}
	t.counts <- struct{}{}
	return func() {
		<-t.counts
		<-own.one
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.wanted--; own.wanted == 0 {
			delete(t.of, namespace)
		}
	}
}
