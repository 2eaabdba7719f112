// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"
)

const (
	// maxConnections keeps strangers from using up the file descriptors and the memory of the scheduler.
	maxConnections = 500
	// maxHeaderBytes has room for a token, and for all groups of a user.
	maxHeaderBytes = 128 << 10
	// maxRequests is how many requests are answered at a time, without streams, and maxStreams how many streams there are.
	maxRequests, maxStreams = 100, 100
	// maxOfUser is how many of either one user may have, so that there is room for others.
	maxOfUser = 20
	// requestTimeout bounds how long an answer takes. Sessions end more often, if there are any.
	requestTimeout = 30 * time.Second
	// headerTimeout bounds how long a client may take to say what it wants.
	headerTimeout = 10 * time.Second
)

// limiter bounds how much is done at a time, for all users together and for each of them.
type limiter struct {
	all, each int

	mu      sync.Mutex
	running int
	users   map[string]int
}

func newLimiter(all, each int) *limiter {
	return &limiter{all: all, each: each, users: map[string]int{}}
}

// enter returns what to call in the end, nil if there is no room.
func (l *limiter) enter(user string) (leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running >= l.all || l.users[user] >= l.each {
		return nil
	}
	l.running++
	l.users[user]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running--
		if l.users[user]--; l.users[user] == 0 {
			delete(l.users, user)
		}
	}
}

// limited refuses requests for which there is no room.
func (l *limiter) limited(message string, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "" // before it is known who asks
		if caller, known := request.UserFrom(r.Context()); known {
			name = caller.GetName()
		}
		leave := l.enter(name)
		if leave == nil {
			refuse(w, r, apierrors.NewTooManyRequests(message, 1))
			return
		}
		defer leave()
		handler.ServeHTTP(w, r)
	})
}

// leaving is the key, in the context of a stream, of what makes room when it is known who asks.
type leaving struct{}

// untilKnown refuses requests for which there is no room. They make room when onceKnown handles them: streams last long, and are bounded
// by their users from then on. Asking who somebody is takes time and memory, too.
func (l *limiter) untilKnown(message string, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave := l.enter("")
		if leave == nil {
			refuse(w, r, apierrors.NewTooManyRequests(message, 1))
			return
		}
		leave = sync.OnceFunc(leave)
		defer leave()
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), leaving{}, leave)))
	})
}

// onceKnown makes room for others who ask.
func onceKnown(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if leave, entered := r.Context().Value(leaving{}).(func()); entered {
			leave()
		}
		handler.ServeHTTP(w, r)
	})
}
