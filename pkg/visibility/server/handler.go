// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

const (
	versionPath = groupPath + "/v1alpha1"
	// nothing forbids browsers to use an answer as a page. The web page has another policy.
	nothing = "default-src 'none'; frame-ancestors 'none'"
)

// healthPaths report that the process serves.
var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// requestInfo reads the resource of a request from its path.
var requestInfo = &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis"), GrouplessAPIPrefixes: sets.NewString()}

// newHandler returns the handler of all requests. Health checks and the files of the web page reveal nothing about the cluster, and need
// no authentication. All other requests need authentication and authorization.
func (s *Server) newHandler(a *access, page http.Handler) http.Handler {
	guarded := http.Handler(onlyRead(s.routes()))
	guarded = filters.WithAuthorization(guarded, a.Authorizer, scheme.Codecs)
	guarded = streamsOr(onceKnown(s.streams.limited("too many streams at a time, of you or of all", guarded)),
		newLimiter(maxRequests, maxOfUser).limited("too many requests at a time, of you or of all", guarded))
	guarded = filters.WithAuthentication(guarded, a.Request, filters.Unauthorized(scheme.Codecs), nil, a.forwarding)
	guarded = keepCredentials(guarded)
	guarded = streamsOr(newLimiter(maxStreams, maxStreams).untilKnown("too many requests at a time", guarded),
		newLimiter(maxRequests, maxRequests).limited("too many requests at a time", withTimeout(guarded, s.patience)))
	guarded = onlyUnambiguous(guarded)
	guarded = filters.WithCacheControl(guarded)
	guarded = filters.WithRequestInfo(guarded, requestInfo)

	mux := http.NewServeMux()
	for _, path := range healthPaths {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { writeAll(w, r, []byte("ok")) })
	}
	if page != nil {
		mux.Handle(versionPath+"/ui/", http.StripPrefix(versionPath+"/ui", onlyRead(page)))
		mux.HandleFunc(versionPath+"/ui", toPage)
	}
	mux.Handle("/", guarded)
	return recoverPanics(withHeaders(mux))
}

// toPage leads browsers to the files of the page in ui/. It does not redirect, because API servers do not forward redirects.
func toPage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	writeAll(w, r, []byte(`<!doctype html><meta http-equiv="refresh" content="0; url=ui/"><a href="ui/">ui/</a>`))
}

// onlyRead refuses all methods but GET and HEAD.
func onlyRead(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			refuse(w, r, apierrors.NewMethodNotSupported(schema.GroupResource{Group: v1alpha1.GroupName}, r.Method))
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// onlyUnambiguous refuses requests that authorization and routes could read differently: routes do not decode a slash, and selectors can
// restrict rights. Existing names need no encoding.
func onlyUnambiguous(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.EscapedPath(), "%") {
			refuse(w, r, apierrors.NewBadRequest("the path has encoded characters: names have none that need to be encoded"))
			return
		}
		query := r.URL.Query()
		for _, selector := range []string{"fieldSelector", "labelSelector"} {
			if query.Get(selector) != "" {
				refuse(w, r, apierrors.NewBadRequest(fmt.Sprintf("%s is not supported: ask for a namespace, or select holders with queue and dimension", selector)))
				return
			}
		}
		handler.ServeHTTP(w, r)
	})
}

// streamsOr chooses between a handler of streams and a handler of other requests.
func streamsOr(streams, others http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isStream(r) {
			streams.ServeHTTP(w, r)
		} else {
			others.ServeHTTP(w, r)
		}
	})
}

// withTimeout limits how long a request waits for its answer.
func withTimeout(handler http.Handler, patience time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		handler.ServeHTTP(w, r.WithContext(ctx))
	})
}

// withHeaders marks answers as data for browsers that open them as pages.
func withHeaders(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", nothing)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		handler.ServeHTTP(w, r)
	})
}

// recoverPanics keeps the scheduler running if a handler panics. Only the connection ends.
func recoverPanics(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if fault := recover(); fault != nil && fault != http.ErrAbortHandler {
				klog.ErrorS(nil, "A request to the visibility server has panicked", "path", r.URL.Path, "panic", fault)
				panic(http.ErrAbortHandler)
			}
		}()
		handler.ServeHTTP(w, r)
	})
}
