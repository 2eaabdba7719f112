// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
)

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
