// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"net/http"
	"sync"
	"time"
)

// writesInFlight is how many writes wait for the API server at the same time. With its default priority levels, the API server queues some 300 requests of a
// client, and refuses what is beyond, and clients try again only after a second: a thousand pods that are bound at once would take longer.
const writesInFlight = 100

// stuck is the time after which a write that has no answer does not count. If a webhook is slow for the objects of one namespace, its writes must not keep
// those of all others from the API server.
const stuck = time.Second

// limited is a transport that lets a number of writes through at a time, together with the transports that share its slots.
type limited struct {
	http.RoundTripper
	slots chan struct{}
}

// limitWrites returns a wrapper for the transports of a client configuration.
func limitWrites() func(http.RoundTripper) http.RoundTripper {
	slots := make(chan struct{}, writesInFlight)
	return func(next http.RoundTripper) http.RoundTripper { return limited{next, slots} }
}

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet {
		return l.RoundTripper.RoundTrip(request) // also watches, which last
	}
	select {
	case <-request.Context().Done():
		if request.Body != nil {
			_ = request.Body.Close() // as http.RoundTripper must
		}
		return nil, request.Context().Err()
	case l.slots <- struct{}{}:
	}
	release := sync.OnceFunc(func() { <-l.slots })
	defer release()
	defer time.AfterFunc(stuck, release).Stop()
	return l.RoundTripper.RoundTrip(request)
}

// WrappedRoundTripper lets client-go find the transport below.
func (l limited) WrappedRoundTripper() http.RoundTripper { return l.RoundTripper }
