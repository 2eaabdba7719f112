// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// fakeCluster is an API server with tokens, rights, and the ConfigMap about authentication.
type fakeCluster struct {
	t             *testing.T
	users, proxy  *authority
	configuration *corev1.ConfigMap

	mu sync.Mutex
	// rights has the allowed requests as "user verb resource namespace".
	rights map[string]bool
	// written has the bodies of writes, by path. If refusal is not zero, it is the status of later writes. If hangs, later writes get no answer.
	written map[string]string
	refusal int
	hangs   bool
}

func newFakeCluster(t *testing.T) *fakeCluster {
	c := &fakeCluster{t: t, users: newAuthority(t, "users"), proxy: newAuthority(t, "proxy"), rights: map[string]bool{}, written: map[string]string{}}
	c.configuration = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: authenticationConfigMap, Namespace: metav1.NamespaceSystem, ResourceVersion: "1"},
		Data: map[string]string{
			"client-ca-file": c.users.pem(), "requestheader-client-ca-file": c.proxy.pem(),
			"requestheader-allowed-names": `["front-proxy"]`, "requestheader-username-headers": `["X-Remote-User"]`,
			"requestheader-group-headers": `["X-Remote-Group"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		},
	}
	return c
}

func (c *fakeCluster) allow(rights ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, right := range rights {
		c.rights[right] = true
	}
}

// refuse makes later writes fail with a status.
func (c *fakeCluster) refuse(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusal = status
}

// hang leaves later writes without an answer.
func (c *fakeCluster) hang() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hangs = true
}

func (c *fakeCluster) write(path, body string) (refusal int, hangs bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written[path] = body
	return c.refusal, c.hangs
}

func (c *fakeCluster) writtenTo(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written[path]
}

// ServeHTTP implements http.Handler.
func (c *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
		var review authenticationv1.TokenReview
		c.decode(r, &review)
		name, known := strings.CutPrefix(review.Spec.Token, "token-of-")
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: known, User: authenticationv1.UserInfo{Username: name}}
		c.encode(w, review)
	case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
		var review authorizationv1.SubjectAccessReview
		c.decode(r, &review)
		review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: c.allows(&review.Spec)}
		c.encode(w, review)
	case strings.HasSuffix(r.URL.Path, "/configmaps") && r.URL.Query().Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case strings.HasSuffix(r.URL.Path, "/configmaps"):
		c.encode(w, corev1.ConfigMapList{
			TypeMeta: metav1.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
			Items: []corev1.ConfigMap{*c.configuration},
		})
	case r.Method == http.MethodPatch:
		body := must(io.ReadAll(r.Body))(c.t)
		switch refusal, hangs := c.write(r.URL.Path, string(body)); {
		case hangs:
			<-r.Context().Done()
		case refusal != 0:
			w.WriteHeader(refusal)
		case r.Header.Get("Content-Type") == string(types.JSONPatchType):
			_, _ = io.WriteString(w, "{}")
		default:
			_, _ = w.Write(body)
		}
	default:
		http.NotFound(w, r)
	}
}

func (c *fakeCluster) allows(asked *authorizationv1.SubjectAccessReviewSpec) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked.NonResourceAttributes != nil {
		return true // discovery, as in every cluster
	}
	resource := asked.ResourceAttributes.Resource
	if sub := asked.ResourceAttributes.Subresource; sub != "" {
		resource += "/" + sub
	}
	return asked.ResourceAttributes.Group == v1alpha1.GroupName &&
		c.rights[strings.TrimSpace(asked.User+" "+asked.ResourceAttributes.Verb+" "+resource+" "+asked.ResourceAttributes.Namespace)]
}

func (c *fakeCluster) decode(r *http.Request, object any) {
	if err := json.NewDecoder(r.Body).Decode(object); err != nil {
		c.t.Errorf("%s: %v", r.URL, err)
	}
}

func (c *fakeCluster) encode(w http.ResponseWriter, object any) {
	if err := json.NewEncoder(w).Encode(object); err != nil {
		c.t.Errorf("encode: %v", err)
	}
}
