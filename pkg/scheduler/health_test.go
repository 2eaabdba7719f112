// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHealth(t *testing.T) {
	unread := errors.New("resourceclaimtemplates.resource.k8s.io cannot be read")
	for _, c := range []struct {
		name, path string
		ready      error
		code       int
		body       string
	}{
		{"a process that runs is healthy", "/healthz", unread, http.StatusOK, "ok"},
		{"a scheduler that can read everything is ready", "/readyz", nil, http.StatusOK, "ok"},
		{"a scheduler that cannot says what it cannot read", "/readyz", unread, http.StatusServiceUnavailable, unread.Error() + "\n"},
		{"nothing else is served", "/metrics", nil, http.StatusNotFound, "404 page not found\n"},
	} {
		answer := httptest.NewRecorder()
		healthHandler(func() error { return c.ready }).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, c.path, nil))
		if answer.Code != c.code || answer.Body.String() != c.body {
			t.Errorf("%s: %d %q, want %d %q", c.name, answer.Code, answer.Body, c.code, c.body)
		}
	}
}
