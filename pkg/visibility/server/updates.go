// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/devicequota/devicequota/pkg/visibility"
)

const (
	heartbeat = 15 * time.Second
	// streamLasts limits a stream. Clients open another stream, and the server checks their rights again.
	streamLasts = 30 * time.Minute
)

// isStream reports whether a request is open-ended.
func isStream(r *http.Request) bool { return r.URL.Path == versionPath+"/updates" }

// updates sends an event for each publication, starting with the latest, as long as the user has the right to follow.
func (s *Server) updates(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), streamLasts)
	defer cancel()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies such as nginx would buffer answers
	stream := stream{w: w, control: http.NewResponseController(w), patience: s.patience}
	var known *visibility.Published
	if err := stream.begin(); err != nil {
		return
	}
	for checked := time.Now(); ; {
		if time.Since(checked) >= s.heartbeat {
			if !s.mayStill(r) {
				return
			}
			checked = time.Now()
		}
		wait, stop := context.WithTimeout(ctx, s.heartbeat)
		next, err := s.publisher.After(wait, known)
		stop()
		switch {
		case err == nil:
			known, err = next, stream.event("snapshot", s.signed(next.Snapshot))
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			err = stream.comment("heartbeat")
		}
		if err != nil {
			return
		}
	}
}

// stream writes server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	// patience limits how long a client may take to read.
	patience time.Duration
}

// begin removes the deadline of other requests from the connection.
func (s stream) begin() error {
	if err := s.control.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return s.comment("sessions of the scheduler")
}

func (s stream) event(name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return s.write("event: %s\ndata: %s\n\n", name, text)
}

func (s stream) comment(text string) error { return s.write(": %s\n\n", text) }

func (s stream) write(format string, values ...any) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(s.patience)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.w, format, values...); err != nil {
		return err
	}
	if err := s.control.Flush(); err != nil {
		return err
	}
	return s.control.SetWriteDeadline(time.Time{}) // in HTTP/2, it would end an idle stream
}

// asReceived is the context key of the request of a stream with its credentials.
type asReceived struct{}

// keepCredentials keeps the credentials of streams to check them again. Authentication removes them from requests.
func keepCredentials(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isStream(r) {
			r = r.WithContext(context.WithValue(r.Context(), asReceived{}, r.Clone(r.Context())))
		}
		handler.ServeHTTP(w, r)
	})
}

// mayStill reports whether the user of a stream would be admitted now. If this check fails, the stream ends. The client gets the error when
// it opens another stream.
func (s *Server) mayStill(r *http.Request) bool {
	received, kept := r.Context().Value(asReceived{}).(*http.Request)
	if !kept {
		return false
	}
	answer, known, err := s.access.AuthenticateRequest(received.Clone(r.Context()))
	if err != nil || !known {
		return false
	}
	attributes, err := filters.GetAuthorizerAttributes(request.WithUser(r.Context(), answer.User))
	if err != nil {
		return false
	}
	decision, _, _ := s.access.Authorize(r.Context(), attributes) // it allows nothing if there is an error
	return decision == authorizer.DecisionAllow
}
