// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"sync"
	"time"
)

// turnTakes is for how long a request waits for its turn. The API server waits for ten seconds at most. Who has sent a request that nobody waits for any
// more may send others, which must not be kept in memory all together: each may have some megabytes.
const turnTakes = 10 * time.Second

var errNoTurn = errors.New("too many requests of this namespace are to be counted: try again later")

// turns lets one request count at a time. Of each namespace, only one waits for that, in the order in which they came: by many requests, a user keeps only
// those of the same namespace waiting.
type turns struct {
	counts chan struct{}
	// lasts is for how long a request that shares its turn counts before one of another namespace may.
	lasts time.Duration

	mu sync.Mutex
	of map[string]*turn
}

// turn is the turn of a namespace. Wanted is how many requests want it or have it.
type turn struct {
	one    chan struct{}
	wanted int
}

func newTurns() *turns {
	return &turns{counts: make(chan struct{}, 1), lasts: 20 * time.Millisecond, of: map[string]*turn{}}
}

// take returns when it is the turn of a request of a namespace. The request must call end, unless there is an error.
func (t *turns) take(namespace string) (end func(), err error) {
	t.mu.Lock()
	own := t.of[namespace]
	if own == nil {
		own = &turn{one: make(chan struct{}, 1)}
		t.of[namespace] = own
	}
	own.wanted++
	t.mu.Unlock()
	limit := time.NewTimer(turnTakes)
	defer limit.Stop()
	select {
	case own.one <- struct{}{}:
	case <-limit.C:
		t.leave(namespace, own)
		return nil, errNoTurn
	}
	select {
	case t.counts <- struct{}{}:
	case <-limit.C:
		<-own.one
		t.leave(namespace, own)
		return nil, errNoTurn
	}
	return func() {
		<-t.counts
		<-own.one
		t.leave(namespace, own)
	}, nil
}

// leave notes that a request does not want the turn of a namespace any more.
func (t *turns) leave(namespace string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.wanted--; own.wanted == 0 {
		delete(t.of, namespace)
	}
}

// shared is the turn of a request that counts many workloads, which may have thousands of tasks each. Requests of other namespaces count in between.
type shared struct {
	turns *turns
	end   func()
	since time.Time
}

// share is take for such a request.
func (t *turns) share(namespace string) (*shared, error) {
	end, err := t.take(namespace)
	return &shared{t, end, time.Now()}, err
}

// isOver reports whether it is the turn of others.
func (s *shared) isOver() bool { return time.Since(s.since) >= s.turns.lasts }

// next lets others count if it is their turn.
func (s *shared) next() {
	if !s.isOver() {
		return
	}
	<-s.turns.counts
	s.turns.counts <- struct{}{} // behind those who wait
	s.since = time.Now()
}
