// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// large is the size of a request from which on it waits while its namespace has others in memory.
	large = 64 << 10
	// mostLarge is how many bytes of large requests of a namespace are in memory at once. What is decoded from them may take fifty times as much.
	mostLarge = 16 << 20
	// largeTakes is for how long a large request waits at most. The API server waits as long.
	largeTakes = 10 * time.Second
	// startSize is how much of a request is read to find its namespace, which comes before the objects.
	startSize = 4 << 10
)

// Bounded returns a handler that lets only so many large requests of a namespace in at once. A user may send any number of some megabytes each at the same
// time, and must not use up the memory of the replica that answers them.
func Bounded(next http.Handler) http.Handler { return &bounded{next: next, of: map[string]*share{}} }

type bounded struct {
	next http.Handler

	mu sync.Mutex
	of map[string]*share
}

// share is what a namespace may have in memory. Wanted is how many requests have or want a part of it.
type share struct {
	*semaphore.Weighted
	wanted int
}

// ServeHTTP implements http.Handler.
func (b *bounded) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	size := request.ContentLength
	if size >= 0 && size < large {
		b.next.ServeHTTP(answer, request)
		return
	}
	if size < 0 || size > mostLarge {
		size = mostLarge
	}
	body := bufio.NewReaderSize(request.Body, startSize)
	start, _ := body.Peek(startSize) // who reads all of it sees the error
	request.Body = struct {
		io.Reader
		io.Closer
	}{body, request.Body}
	end, err := b.take(request.Context(), namespaceIn(start), size)
	if err != nil {
		http.Error(answer, "too many large requests of this namespace: try again later", http.StatusTooManyRequests)
		return
	}
	defer end()
	b.next.ServeHTTP(answer, request)
}

// take returns when there is room for a request of a namespace. The request must call end, unless there is an error.
func (b *bounded) take(ctx context.Context, namespace string, size int64) (end func(), err error) {
	b.mu.Lock()
	own := b.of[namespace]
	if own == nil {
		own = &share{Weighted: semaphore.NewWeighted(mostLarge)}
		b.of[namespace] = own
	}
	own.wanted++
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, largeTakes)
	defer cancel()
	if err := own.Acquire(ctx, size); err != nil {
		b.leave(namespace, own)
		return nil, err
	}
	return func() {
		own.Release(size)
		b.leave(namespace, own)
	}, nil
}

// leave notes that a request has or wants no part of the share of a namespace any more.
func (b *bounded) leave(namespace string, own *share) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if own.wanted--; own.wanted == 0 {
		delete(b.of, namespace)
	}
}

// namespaceOf finds the namespace of a request as the API server writes it. Quotes in other texts are escaped.
var namespaceOf = regexp.MustCompile(`"namespace":"([^"]*)","operation":"`)

// namespaceIn returns the namespace in the start of a request, "" if there is none.
func namespaceIn(start []byte) string {
	if found := namespaceOf.FindSubmatch(start); found != nil {
		return string(found[1])
	}
	return ""
}
