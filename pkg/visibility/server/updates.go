// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

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
