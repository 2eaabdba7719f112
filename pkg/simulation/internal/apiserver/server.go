// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Config returns a configuration for clients of the server.
func (s *Server) Config() *rest.Config {
	json := rest.ContentConfig{ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeJSON}
	return &rest.Config{Host: "http://simulation.invalid", Transport: transport{s}, QPS: -1, ContentConfig: json}
}

// transport hands requests to the server.
type transport struct{ server *Server }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	answer, err := t.server.serve(r, sent)
	if w, is := answer.(*watcher); is {
		return response(r, http.StatusOK, w), nil
	}
	code := http.StatusOK
	if err != nil {
		status := apierrors.NewInternalError(err)
		if known := apierrors.APIStatus(nil); errors.As(err, &known) {
			status = &apierrors.StatusError{ErrStatus: known.Status()}
		}
		status.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		answer, code = status.ErrStatus, int(status.ErrStatus.Code)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	return response(r, code, io.NopCloser(bytes.NewReader(body))), nil
}

func response(r *http.Request, code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: code, Status: strconv.Itoa(code) + " " + http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": []string{"application/json"}}, Body: body, ContentLength: -1, Request: r,
	}
}

// request is a request about objects.
type request struct {
	*http.Request
	kind                         *kind
	namespace, name, subresource string
	body                         []byte
}

// serve answers a request with an object to encode, or with a watcher.
func (s *Server) serve(r *http.Request, body []byte) (any, error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if answer, about := s.discover(parts); about {
		return answer, nil
	}
	q, found := s.parse(parts)
	if !found {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, r.URL.Path)
	}
	q.Request, q.body = r, body
	switch r.Method {
	case http.MethodGet:
		return s.get(q)
	case http.MethodPost:
		return s.post(q)
	case http.MethodPut:
		return s.put(q)
	case http.MethodPatch:
		return s.patch(q)
	case http.MethodDelete:
		return s.delete(q)
	}
	return nil, apierrors.NewMethodNotSupported(q.kind.GroupResource(), r.Method)
}

// parse returns the request that a path stands for.
func (s *Server) parse(parts []string) (*request, bool) {
	group, version := "", ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, false
	}
	q := &request{}
	if parts[0] == "namespaces" && len(parts) > 2 {
		q.namespace, parts = parts[1], parts[2:]
	}
	q.kind = s.kinds[path(group, version, parts[0])]
	if len(parts) > 1 {
		q.name = parts[1]
	}
	if len(parts) > 2 {
		q.subresource = parts[2]
	}
	return q, q.kind != nil
}
