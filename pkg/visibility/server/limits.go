// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

const (
	// maxConnections protects the file descriptors and the memory of the scheduler.
	maxConnections = 500
	// maxOfAddress limits the connections of one address, to leave room for others. The API server needs few: it sends many requests over one. A
	// proxy in front of the page may need one for each stream.
	maxOfAddress = maxStreams
	// maxHeaderBytes is enough for a token and all groups of a user.
	maxHeaderBytes = 128 << 10
	// maxRequests limits concurrent requests without streams, and maxStreams limits concurrent streams.
	maxRequests, maxStreams = 100, 100
	// maxOfUser limits each of them for one user, to leave room for others.
	maxOfUser = 20
	// requestTimeout limits how long an answer takes. Sessions take less.
	requestTimeout = 30 * time.Second
	// headerTimeout limits how long a client may take for the TLS handshake, and to send the headers.
	headerTimeout = 3 * time.Second
)

// limiter limits concurrent requests, for all users together and for each user.
type limiter struct {
	all, each int

	mu      sync.Mutex
	running int
	users   map[string]int
}

func newLimiter(all, each int) *limiter {
	return &limiter{all: all, each: each, users: map[string]int{}}
}

// enter returns the function to call in the end, or nil if there is no room.
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

// limited refuses requests if there is no room.
func (l *limiter) limited(message string, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "" // the user is not known yet
		if caller, known := request.UserFrom(r.Context()); known {
			name = nameOf(caller)
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

// leaving is the context key of a function that makes room after authentication.
type leaving struct{}

// untilKnown refuses streams if there is no room for their authentication, which takes time and memory. They leave this room when onceKnown
// handles them. Streams last long, and other limits apply to them after authentication.
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

// onceKnown makes room for the authentication of other requests.
func onceKnown(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if leave, entered := r.Context().Value(leaving{}).(func()); entered {
			leave()
		}
		handler.ServeHTTP(w, r)
	})
}

// nameOf returns the name of a user. All ServiceAccounts of a namespace are one: who may act as one of them may act as each.
func nameOf(caller user.Info) string {
	if namespace, _, err := serviceaccount.SplitUsername(caller.GetName()); err == nil {
		return serviceaccount.MakeNamespaceGroupName(namespace)
	}
	return caller.GetName()
}

// addressListener closes connections of an address that has too many.
type addressListener struct {
	net.Listener
	*limiter
}

// Accept waits for a connection of an address that does not have too many.
func (l addressListener) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address, _, err := net.SplitHostPort(connection.RemoteAddr().String())
		if err != nil {
			address = connection.RemoteAddr().String()
		}
		if leave := l.enter(address); leave != nil {
			return &countedConnection{connection, sync.OnceFunc(leave)}, nil
		}
		_ = connection.Close() // it was of no use yet
	}
}

// countedConnection is counted until it is closed.
type countedConnection struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (c *countedConnection) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
