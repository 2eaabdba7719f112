// SPDX-License-Identifier: Apache-2.0

package server

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// compressFrom is the least length of a compressed answer, as in API servers.
const compressFrom = 128 << 10

// compressors are gzip writers. They are expensive to create.
var compressors = sync.Pool{New: func() any {
	writer, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return writer
}}

// answer writes an object as JSON.
func answer(w http.ResponseWriter, r *http.Request, object any) {
	text, err := json.Marshal(object)
	if err != nil {
		refuse(w, r, apierrors.NewInternalError(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Vary", "Accept-Encoding")
	if len(text) < compressFrom || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		writeAll(w, r, text)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	writer := compressors.Get().(*gzip.Writer)
	defer compressors.Put(writer)
	writer.Reset(w)
	writeAll(writer, r, text)
	if err := writer.Close(); err != nil {
		klog.V(4).InfoS("Failed to answer", "path", r.URL.Path, "err", err)
	}
}

func writeAll(w io.Writer, r *http.Request, text []byte) {
	if _, err := w.Write(text); err != nil {
		klog.V(4).InfoS("Failed to answer", "path", r.URL.Path, "err", err)
	}
}

// refuse writes an error as a metav1.Status.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	responsewriters.ErrorNegotiated(err, scheme.Codecs, v1alpha1.SchemeGroupVersion, w, r)
}

// asStatus converts errors of a publisher to errors of an API.
func asStatus(err error) error {
	switch {
	case errors.Is(err, visibility.ErrBusy):
		return apierrors.NewTooManyRequests(err.Error(), 1)
	case errors.Is(err, visibility.ErrNoSession):
		return apierrors.NewServiceUnavailable(visibility.ErrNoSession.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return apierrors.NewTimeoutError("the scheduler did not answer in time", 1)
	default:
		return apierrors.NewInternalError(err)
	}
}
