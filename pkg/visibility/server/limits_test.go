// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/visibility"
)

func TestOneUserLeavesRoomForOthers(t *testing.T) {
	l := newLimiter(4, 2)
	var leave []func()
	for _, test := range []struct {
		user string
		room bool
	}{{"alice", true}, {"alice", true}, {"alice", false}, {"bob", true}, {"carol", true}, {"dave", false}} {
		left := l.enter(test.user)
		if (left != nil) != test.room {
			t.Errorf("%s: room %v, want %v", test.user, left != nil, test.room)
		}
		if left != nil {
			leave = append(leave, left)
		}
	}
	for _, left := range leave {
		left()
	}
	if len(l.users) != 0 || l.running != 0 {
		t.Errorf("something is left: %d %v", l.running, l.users)
	}
}

func TestOneUserCannotHaveAllStreams(t *testing.T) {
	f := newFixture(t, func(s *Server) { s.streams = newLimiter(maxStreams, 1) })
	f.cluster.allow("root list updates", "alice list updates")
	f.follow(t.Context())()
	for user, want := range map[string]int{"root": http.StatusTooManyRequests, "alice": http.StatusOK} {
		response := f.request(t.Context(), token(user), http.MethodGet, versionPath+"/updates")
		if response.StatusCode != want {
			t.Errorf("%s: %s, want %d", user, response.Status, want)
		}
		response.Body.Close()
	}
}

func TestOneUserCannotAskAllQuestions(t *testing.T) {
	f := newFixture(t)
	f.cluster.allow(everything...)
	f.cluster.allow("alice list queues")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	statuses := make(chan int, 3*maxOfUser)
	for range 3 * maxOfUser { // no session answers
		go func() {
			if response, err := f.send(ctx, token("root"), http.MethodGet, versionPath+"/queues"); err == nil {
				statuses <- response.StatusCode
				response.Body.Close()
			}
		}()
	}
	for range 2 * maxOfUser {
		if got := <-statuses; got != http.StatusTooManyRequests {
			t.Errorf("%d, want %d", got, http.StatusTooManyRequests)
		}
	}
	f.publisher.Publish(published())
	if status, body := f.ask(token("alice"), versionPath+"/queues"); status != http.StatusOK {
		t.Errorf("another user: %d %s", status, body)
	}
}

func TestStreamsOfNobodyKnownAreBounded(t *testing.T) {
	var asked atomic.Int32
	f := newFixture(t, func(s *Server) {
		authenticate := s.access.Request
		s.access.Request = authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
			if r.Header.Get("Authorization") != "" {
				return authenticate.AuthenticateRequest(r)
			}
			asked.Add(1)
			<-r.Context().Done() // the API server is slow
			return nil, false, r.Context().Err()
		})
	})
	f.cluster.allow(everything...)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	answered := make(chan int, 2*maxStreams)
	for range 2 * maxStreams {
		go func() {
			if response, err := f.send(ctx, asker{}, http.MethodGet, versionPath+"/updates"); err == nil {
				answered <- response.StatusCode
				response.Body.Close()
			}
		}()
	}
	eventually(t, "all have come in", func() bool { return int(asked.Load())+len(answered) == 2*maxStreams })
	if got := asked.Load(); got != maxStreams {
		t.Errorf("%d are asked about at a time, want %d", got, maxStreams)
	}
	for range len(answered) {
		if got := <-answered; got != http.StatusTooManyRequests {
			t.Errorf("%d, want %d", got, http.StatusTooManyRequests)
		}
	}
	leave()
	eventually(t, "there is room again", func() bool {
		stream := f.request(t.Context(), token("root"), http.MethodGet, versionPath+"/updates")
		stream.Body.Close()
		return stream.StatusCode == http.StatusOK
	})
}

func TestConnectionsAreBounded(t *testing.T) {
	var open atomic.Int32
	inner := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	newFixtureOn(t, counting{Listener: inner, open: &open})
	dial := func(from, n int) (connections []net.Conn) {
		local := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(from))}}
		for range n {
			connections = append(connections, must(local.Dial("tcp", inner.Addr().String()))(t))
		}
		return connections
	}
	var connections []net.Conn
	for from := range maxConnections / maxOfAddress {
		connections = append(connections, dial(from+1, maxOfAddress)...)
	}
	eventually(t, "all that are allowed are accepted", func() bool { return open.Load() == maxConnections })
	waiting := dial(100, maxOfAddress) // connections that are not accepted wait in the kernel
	for _, connection := range connections {
		connection.Close()
	}
	eventually(t, "all have been accepted in the end", func() bool { return open.Load() == maxConnections+maxOfAddress })
	for _, connection := range dial(100, 5) {
		if n, err := connection.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("one connection of an address more than allowed is served: %d, %v", n, err)
		}
	}
	for _, connection := range waiting {
		connection.Close()
	}
}

// counting counts accepted connections.
type counting struct {
	net.Listener
	open *atomic.Int32
}

// Accept implements net.Listener.
func (c counting) Accept() (net.Conn, error) {
	connection, err := c.Listener.Accept()
	if err == nil {
		c.open.Add(1)
	}
	return connection, err
}

func TestASlowReaderLosesItsStream(t *testing.T) {
	f := newFixture(t, func(s *Server) { s.patience = time.Second })
	f.cluster.allow(everything...)
	// The client sends requests, and reads nothing.
	connection := must(f.raw(&tls.Config{}))(t)
	defer connection.Close()
	fmt.Fprintf(connection, "GET %s/updates HTTP/1.1\r\nHost: scheduler\r\nAuthorization: Bearer token-of-root\r\n\r\n", versionPath)
	running := func() int {
		f.server.streams.mu.Lock()
		defer f.server.streams.mu.Unlock()
		return f.server.streams.running
	}
	eventually(t, "the stream is open", func() bool { return running() == 1 })
	large := strings.Repeat("x", 1<<20)
	eventually(t, "the stream ends, and never holds up who publishes", func() bool {
		f.publisher.Publish(&visibility.Published{Snapshot: v1alpha1.Snapshot{Session: large}})
		return running() == 0
	})
}

func TestAStreamOutlivesTheTimeForAnAnswer(t *testing.T) {
	// The patience is enough for a handshake on a slow machine. The stream lasts more than twice as long.
	const patience, beats = time.Second, 25
	f := newFixture(t, func(s *Server) { s.patience, s.heartbeat = patience, patience/10 })
	f.cluster.allow(everything...)
	next := f.follow(t.Context())
	for range beats {
		if got := next(); !strings.HasPrefix(got, ":") {
			t.Fatal(got)
		}
	}
	connection := must(f.raw(&tls.Config{}))(t) // HTTP/1.1 has other timeouts
	defer connection.Close()
	fmt.Fprintf(connection, "GET %s/updates HTTP/1.1\r\nHost: scheduler\r\nAuthorization: Bearer token-of-root\r\n\r\n", versionPath)
	heartbeats := 0
	for read := make([]byte, 1<<10); heartbeats < beats; {
		n, err := connection.Read(read)
		if err != nil {
			t.Fatalf("after %d heartbeats: %v", heartbeats, err)
		}
		heartbeats += bytes.Count(read[:n], []byte(": heartbeat"))
	}
}

func TestAStreamEndsWithTheRightsOfItsUser(t *testing.T) {
	var mayFollow, known atomic.Bool
	f := newFixture(t, func(s *Server) {
		s.heartbeat = time.Millisecond
		s.access.Authorizer = authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
			if mayFollow.Load() {
				return authorizer.DecisionAllow, "", nil
			}
			return authorizer.DecisionNoOpinion, "", errors.New("the API server is away")
		})
		authenticate := s.access.Request
		s.access.Request = authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
			if !known.Load() {
				return nil, false, nil
			}
			return authenticate.AuthenticateRequest(r)
		})
	})
	for what, revoked := range map[string]*atomic.Bool{"the right": &mayFollow, "the token": &known} {
		mayFollow.Store(true)
		known.Store(true)
		next := f.follow(t.Context())
		for range 5 {
			if got := next(); got != ": heartbeat" && got != ": sessions of the scheduler" {
				t.Fatalf("%s is there, and the stream says %q", what, got)
			}
		}
		revoked.Store(false)
		eventually(t, "the stream ends without "+what, func() bool { return next() == "end" })
	}
}
