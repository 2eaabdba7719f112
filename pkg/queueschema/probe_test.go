// SPDX-License-Identifier: Apache-2.0

package queueschema

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/devicequota/devicequota/pkg/client/clientset/versioned"
)

func TestProbe(t *testing.T) {
	const refused = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q}`
	const decoding = `Queue in version "v1beta1" cannot be handled as a Queue: strict decoding error: `
	for _, c := range []struct {
		name   string
		code   int
		answer string
		serves bool
		known  bool
	}{
		{"the field is served", 400, fmt.Sprintf(refused, "BadRequest", 400, decoding+unknownProbe), true, true},
		{"the field is not served", 400, fmt.Sprintf(refused, "BadRequest", 400, decoding+unknownProbe+", "+UnknownDRA), false, true},
		{"a webhook says something", 400, fmt.Sprintf(refused, "BadRequest", 400, `admission webhook "validatequeue.volcano.sh" denied the request`), false, false},
		{"no permission", 403, fmt.Sprintf(refused, "Forbidden", 403, `queues.scheduling.volcano.sh is forbidden: User "u" cannot create resource "queues"`), false, false},
		{"no CRD", 404, fmt.Sprintf(refused, "NotFound", 404, "the server could not find the requested resource"), false, false},
		{"no strict validation", 201, probeObject, false, false},
		{"an internal error", 500, "not JSON", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || string(body) != probeObject || r.URL.Query().Get("dryRun") != "All" || r.URL.Query().Get("fieldValidation") != "Strict" {
					t.Errorf("request %s %s, error %v", r.URL, body, err)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.code)
				_, _ = io.WriteString(w, c.answer)
			}))
			defer server.Close()
			client := versioned.NewForConfigOrDie(&rest.Config{Host: server.URL})
			serves, err := ServesDRA(t.Context(), client.SchedulingV1beta1().RESTClient())
			if serves != c.serves || (err == nil) != c.known {
				t.Errorf("serves %t, error %v", serves, err)
			}
		})
	}
}
