// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// patience is how long a command waits for the scheduler before it says so.
const patience = 5 * time.Second

// patient says that it waits for an answer that takes long. The scheduler itself answers after 30 seconds that it has no session.
type patient struct {
	http.RoundTripper
	out   io.Writer
	after time.Duration
}

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(request *http.Request) (*http.Response, error) {
	said := time.AfterFunc(p.after, func() {
		fmt.Fprintf(p.out, "The scheduler has not answered for %s: a session takes long, or the scheduler hangs. Its log says more. Waiting for up to 30s.\n", p.after)
	})
	defer said.Stop()
	return p.RoundTripper.RoundTrip(request)
}
