// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// follow returns a function that returns the next non-empty line of a stream.
func (f *fixture) follow(ctx context.Context) func() string {
	f.t.Helper()
	response := f.request(ctx, token("root"), http.MethodGet, versionPath+"/updates")
	f.t.Cleanup(func() { response.Body.Close() })
	if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "text/event-stream" {
		f.t.Fatalf("%s %s", response.Status, got)
	}
	lines := bufio.NewScanner(response.Body)
	return func() string {
		for lines.Scan() {
			if lines.Text() != "" {
				return lines.Text()
			}
		}
		return "end"
	}
}

func session(id string) *visibility.Published {
	return &visibility.Published{Snapshot: v1alpha1.Snapshot{Session: id}}
}

func TestUpdatesTellOfEachPublication(t *testing.T) {
	f := newFixture(t)
	f.cluster.allow(everything...)
	next := f.follow(t.Context())
	if got := next(); !strings.HasPrefix(got, ":") {
		t.Fatalf("%q, want a comment, so that proxies forward the header", got)
	}
	for _, id := range []string{"first", "second"} {
		f.publisher.Publish(session(id))
		if got := next(); got != "event: snapshot" {
			t.Fatal(got)
		}
		if got := next(); !strings.HasPrefix(got, "data: {") || !strings.Contains(got, `"session":"`+id+`"`) {
			t.Fatal(got)
		}
	}
}

func TestStreamsHaveAHeartbeat(t *testing.T) {
	f := newFixture(t, func(s *Server) { s.heartbeat = time.Millisecond })
	f.cluster.allow(everything...)
	next := f.follow(t.Context())
	for range 3 {
		if got := next(); !strings.HasPrefix(got, ":") {
			t.Fatal(got)
		}
	}
}

func TestTooManyStreamsAreRefused(t *testing.T) {
	f := newFixture(t, func(s *Server) { s.streams = newLimiter(1, 1) })
	f.cluster.allow(everything...)
	ctx, leave := context.WithCancel(t.Context())
	f.follow(ctx)()
	response := f.request(t.Context(), token("root"), http.MethodGet, versionPath+"/updates")
	body := string(must(io.ReadAll(response.Body))(t))
	response.Body.Close()
	if response.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, `"kind":"Status"`) {
		t.Fatalf("%s %s", response.Status, body)
	}
	leave()
	eventually(t, "a stream that has ended makes room", func() bool { return f.server.streams.enter("root") != nil })
}
