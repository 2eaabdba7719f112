// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slow is an API server that answers when it is told to.
type slow struct {
	answer   chan struct{}
	inFlight atomic.Int32
}

func (s *slow) RoundTrip(*http.Request) (*http.Response, error) {
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	<-s.answer
	return &http.Response{StatusCode: http.StatusOK}, nil
}

// TestWritesInFlight tests that writes wait for each other, those of all clients, and that reads do not wait for writes.
func TestWritesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, wrap := &slow{answer: make(chan struct{})}, limitWrites()
		clients := []http.RoundTripper{wrap(server), wrap(server)}
		var requests sync.WaitGroup
		send := func(ctx context.Context, method string, want error) {
			request, err := http.NewRequestWithContext(ctx, method, "https://kubernetes/api/v1/events", nil)
			if err != nil {
				t.Fatal(err)
			}
			client := clients[0]
			clients[0], clients[1] = clients[1], client
			requests.Go(func() {
				if _, err := client.RoundTrip(request); !errors.Is(err, want) {
					t.Errorf("%s: error %v, want %v", method, err, want)
				}
			})
		}
		for range 3 * writesInFlight {
			send(t.Context(), http.MethodPost, nil)
		}
		synctest.Wait()
		if got := server.inFlight.Load(); got != writesInFlight {
			t.Errorf("%d writes are in flight, want %d", got, writesInFlight)
		}
		send(t.Context(), http.MethodGet, nil)
		given, cancel := context.WithCancel(t.Context())
		send(given, http.MethodPatch, context.Canceled)
		synctest.Wait()
		if got := server.inFlight.Load(); got != writesInFlight+1 {
			t.Errorf("%d requests are in flight, want a read more than %d", got, writesInFlight)
		}
		cancel()
		synctest.Wait()
		close(server.answer)
		requests.Wait()
	})
}

// TestStuckWrites tests that writes without an answer do not hold up others for long.
func TestStuckWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &slow{answer: make(chan struct{})}
		client := limitWrites()(server)
		var requests sync.WaitGroup
		for range 3 * writesInFlight {
			requests.Go(func() {
				if _, err := client.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/events", nil)); err != nil {
					t.Error(err)
				}
			})
		}
		for i := range int32(3) {
			synctest.Wait()
			if got := server.inFlight.Load(); got != (i+1)*writesInFlight {
				t.Errorf("after %d s, %d writes are in flight", i, got)
			}
			time.Sleep(stuck)
		}
		close(server.answer)
		requests.Wait()
		if got := len(client.(limited).slots); got != 0 {
			t.Errorf("%d slots are taken", got)
		}
	})
}
