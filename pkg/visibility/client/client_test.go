// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestErrorsOfTheSchedulerKeepTheirMessage(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","message":"pods \"a\" not found","code":404,"details":{"name":"a","kind":"pods"}}`)
	})
	_, err := c.Explain(t.Context(), "pods", "default", "a")
	if got, want := fmt.Sprint(err), `pods "a" not found`; got != want || !apierrors.IsNotFound(err) {
		t.Errorf("got the error %q, want %q", got, want)
	}
}

func TestUpdatesComeOneByOne(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	var path string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.RequestURI()
		fmt.Fprintf(w, ": hello\n\nid: 1\ndata: {}\n\n: still there\n\ndata: %s\ndata: more\n\nevent: without data\n\n", long)
	})
	updates, err := c.Updates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer updates.Close()
	for n := range 2 {
		if err := updates.Next(); err != nil {
			t.Fatalf("update %d: %v", n, err)
		}
	}
	if err := updates.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last update: %v, want the end", err)
	}
	if want := "/apis/visibility.devicequota.io/v1alpha1/updates?watch=true"; path != want {
		t.Errorf("asked for %s, want %s", path, want)
	}
}
