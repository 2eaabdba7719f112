// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// reviewOf returns a request from a namespace with an object of some bytes.
func reviewOf(t *testing.T, namespace string, size int) []byte {
	t.Helper()
	object, err := json.Marshal(map[string]string{"text": strings.Repeat("x", size)})
	if err != nil {
		t.Fatal(err)
	}
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "1", Name: `","namespace":"another","operation":"`, Namespace: namespace, Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: object},
		},
	}
	text, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestManyLargeRequestsOfANamespaceTakeLittleMemory: a user sends them all at once. A Deployment of tens of thousands of containers takes some tens of megabytes.
func TestManyLargeRequestsOfANamespaceTakeLittleMemory(t *testing.T) {
	const size, many = mostLarge / 4, 12
	var mu sync.Mutex
	has, most := 0, 0
	in, goOn := make(chan string, 2*many), make(chan struct{})
	handler := Bounded(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		read, err := io.ReadAll(request.Body)
		if err != nil || !json.Valid(read) {
			t.Errorf("the request cannot be read: %v", err)
		}
		if strings.Contains(string(read[:min(startSize, len(read))]), `"namespace":"busy"`) {
			mu.Lock()
			has += len(read)
			most = max(most, has)
			mu.Unlock()
			in <- "busy"
			<-goOn
			mu.Lock()
			has -= len(read)
			mu.Unlock()
		}
	}))
	send := func(namespace string, size int) int {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, WorkloadsPath, bytes.NewReader(reviewOf(t, namespace, size))))
		return answer.Code
	}
	var all sync.WaitGroup
	for range many {
		all.Go(func() { send("busy", size) })
	}
	for range 3 { // a fourth one with its envelope is more than may be there
		<-in
	}
	for name, code := range map[string]int{"a large one of another namespace": send("other", size), "a small one": send("busy again", 1)} {
		if code != http.StatusOK {
			t.Errorf("%s is answered with %d", name, code)
		}
	}
	close(goOn)
	all.Wait()
	if most > mostLarge {
		t.Errorf("%d bytes of requests are in memory, want at most %d", most, mostLarge)
	}
	if b := handler.(*bounded); len(b.of) > 0 {
		t.Errorf("%d namespaces are remembered", len(b.of))
	}
}

func TestALargeRequestThatNobodyWaitsForIsDropped(t *testing.T) {
	b := Bounded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it is answered") })).(*bounded)
	end, err := b.take(t.Context(), "busy", mostLarge)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	answer := httptest.NewRecorder()
	b.ServeHTTP(answer, httptest.NewRequestWithContext(gone, http.MethodPost, WorkloadsPath, bytes.NewReader(reviewOf(t, "busy", large))))
	if answer.Code != http.StatusTooManyRequests || b.of["busy"].wanted != 1 {
		t.Errorf("it is answered with %d, and %d requests are noted", answer.Code, b.of["busy"].wanted)
	}
}
