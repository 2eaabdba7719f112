// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"net/http"
	"time"

	"k8s.io/client-go/transport"
)

// Fence returns a wrapper that blocks writes of a client if this process has had the lease and has not renewed it for longer than d. The
// duration d must be shorter than the lease. Reads pass, and so do all requests before the process leads. The client of the lease must not
// have a fence.
func (l *Lock) Fence(d time.Duration) transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper { return &fence{l, d, next} }
}

type fence struct {
	lock *Lock
	d    time.Duration
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (f *fence) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		if err := f.lock.staleAfter(f.d); err != nil {
			if request.Body != nil {
				_ = request.Body.Close() // as http.RoundTripper must
			}
			return nil, err
		}
	}
	return f.next.RoundTrip(request)
}

// WrappedRoundTripper lets client-go find the transport below.
func (f *fence) WrappedRoundTripper() http.RoundTripper { return f.next }
