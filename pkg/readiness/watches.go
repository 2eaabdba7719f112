// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"net/http"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// watches is a transport that notes when the watch of a resource begins.
type watches struct {
	next      http.RoundTripper
	informers *Informers
}

// Transport returns a transport for the client of the informers. With it, a failure ends when the watch begins again. An informer itself shows that only
// when something changes.
func (i *Informers) Transport(next http.RoundTripper) http.RoundTripper { return &watches{next, i} }

// WrappedRoundTripper lets clients find the transport below.
func (w *watches) WrappedRoundTripper() http.RoundTripper { return w.next }

// RoundTrip implements http.RoundTripper.
func (w *watches) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusOK && request.URL.Query().Get("watch") != "" {
		w.informers.watched(resourceOf(request.URL.Path))
	}
	return response, err
}

// watched notes that the watch of a resource has begun.
func (i *Informers) watched(resource string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, informer := range i.all {
		if informer.resource == resource {
			informer.failure = nil
		}
	}
}

// listPath matches the path of the objects of a resource. The API server may be behind another path.
var listPath = regexp.MustCompile(`/(?:api|apis/([^/]+))/[^/]+/(?:namespaces/[^/]+/)?([^/]+)$`)

// resourceOf returns the resource in the path of a request for its objects, as a schema.GroupResource writes it.
func resourceOf(path string) string {
	found := listPath.FindStringSubmatch(strings.TrimSuffix(path, "/"))
	if found == nil {
		return ""
	}
	return schema.GroupResource{Group: found[1], Resource: found[2]}.String()
}
