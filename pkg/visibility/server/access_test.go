// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/visibility"
)

// forwarded returns a request that the owner of a certificate forwards for a user.
func (f *fixture) forwarded(by *authority, name, user string) asker {
	certificate := by.client(name)
	return asker{certificate: &certificate, headers: map[string]string{"X-Remote-User": user}}
}

func (f *fixture) certificate(by *authority, user string, groups ...string) asker {
	certificate := by.client(user, groups...)
	return asker{certificate: &certificate}
}

func TestWhoMayRead(t *testing.T) {
	f := newFixture(t)
	f.publisher.Publish(&visibility.Published{})
	f.cluster.allow("alice list queues", "alice list workloads team-a", "alice get pods/explanation team-a")
	c := f.cluster
	stranger := newAuthority(t, "stranger")
	eventually(t, "the cluster's authorities are known", func() bool {
		user, _ := f.ask(f.certificate(c.users, "alice"), versionPath+"/queues")
		proxy, _ := f.ask(f.forwarded(c.proxy, "front-proxy", "alice"), versionPath+"/queues")
		return user == http.StatusOK && proxy == http.StatusOK
	})
	for _, test := range []struct {
		name string
		who  asker
		path string
		want int
	}{
		{"a token", token("alice"), "/queues", 200},
		{"a token of somebody without rights", token("bob"), "/queues", 403},
		{"a forged token", asker{headers: map[string]string{"Authorization": "Bearer forged"}}, "/queues", 401},
		{"nobody", asker{}, "/queues", 401},
		{"a certificate of the cluster", f.certificate(c.users, "alice"), "/queues", 200},
		{"a certificate of somebody without rights", f.certificate(c.users, "bob"), "/queues", 403},
		{"a certificate of the administrator", f.certificate(c.users, "root", "system:masters"), "/holders", 200},
		{"a certificate of another authority", f.certificate(stranger, "alice"), "/queues", 401},
		{"a request that the API server forwards", f.forwarded(c.proxy, "front-proxy", "alice"), "/queues", 200},
		{"a request that the API server forwards for somebody without rights", f.forwarded(c.proxy, "front-proxy", "bob"), "/queues", 403},
		{"a request that somebody else forwards, whose certificate is of that authority", f.forwarded(c.proxy, "somebody", "alice"), "/queues", 401},
		{"a user who says to be another one", f.forwarded(c.users, "bob", "alice"), "/queues", 403},
		{"headers without a certificate", asker{headers: map[string]string{"X-Remote-User": "alice"}}, "/queues", 401},
		{"the namespace of a user", token("alice"), "/namespaces/team-a/workloads", 200},
		{"another namespace", token("alice"), "/namespaces/team-b/workloads", 403},
		{"all namespaces", token("alice"), "/workloads", 403},
		{"holders", token("alice"), "/namespaces/team-a/holders", 403},
		{"an explanation in another namespace", token("alice"), "/namespaces/team-b/pods/p/explanation", 403},
		{"a namespace with an encoded slash", token("alice"), "/namespaces/team-a%2Fworkloads%2F..%2F..%2Fteam-b/workloads", 400},
		{"holders behind an encoded slash, with rights for another resource", token("alice"), "/namespaces/team-a%2Fworkloads/holders", 400},
		{"a list that a selector restricts", token("alice"), "/queues?fieldSelector=metadata.name%3Da", 400},
		{"history", token("alice"), "/history", 403},
		{"updates", token("alice"), "/updates", 403},
		{"what does not exist", f.certificate(c.users, "root", "system:masters"), "/nothing", 404},
		{"the explanation of what is not explained", f.certificate(c.users, "root", "system:masters"), "/namespaces/a/secrets/s/explanation", 404},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, body := f.ask(test.who, versionPath+test.path)
			if status != test.want {
				t.Fatalf("%d %s, want %d", status, body, test.want)
			}
			var told metav1.Status
			if err := json.Unmarshal([]byte(body), &told); err != nil {
				t.Fatal(err)
			}
			if status != http.StatusOK && (told.Kind != "Status" || int(told.Code) != status || told.Message == "") {
				t.Errorf("not a Status: %s", body)
			}
		})
	}
}

func TestHealthAndThePageNeedNoAuthentication(t *testing.T) {
	f := newFixture(t, func(s *Server) { s.leading.Store(false) })
	for path, want := range map[string]string{
		"/healthz": "ok", "/livez": "ok", "/readyz": "ok", versionPath + "/ui/": "page /", versionPath + "/ui/app.js": "page /app.js",
	} {
		if status, body := f.ask(asker{}, path); status != http.StatusOK || body != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	// API servers do not forward redirects.
	if status, body := f.ask(asker{}, versionPath+"/ui"); status != http.StatusOK || !strings.Contains(body, `url=ui/"`) {
		t.Errorf("/ui: %d %s", status, body)
	}
	if status, body := f.ask(asker{}, versionPath+"/ui/../queues"); status == http.StatusOK {
		t.Errorf("a way around authentication: %s", body)
	}
}

func TestNothingCanBeWritten(t *testing.T) {
	f := newFixture(t)
	f.publisher.Publish(&visibility.Published{})
	administrator := f.certificate(f.cluster.users, "root", "system:masters")
	eventually(t, "the cluster's authority is known", func() bool {
		status, _ := f.ask(administrator, versionPath+"/queues")
		return status == http.StatusOK
	})
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		response := f.request(t.Context(), administrator, method, versionPath+"/queues")
		if response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %s", method, response.Status)
		}
		response.Body.Close()
	}
}

func TestClientsDiscoverResources(t *testing.T) {
	f := newFixture(t, func(s *Server) { s.leading.Store(false) })
	for path, want := range map[string]string{
		"/apis": `"kind":"APIGroupList"`, groupPath: `"kind":"APIGroup"`, versionPath: `"name":"pods/explanation"`, versionPath + "/": `"kind":"APIResourceList"`,
		"/openapi/v2": `"swagger":"2.0"`, "/openapi/v3": `"paths":{}`,
	} {
		if status, body := f.ask(token("alice"), path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, r := range resources {
		for _, verb := range r.Verbs {
			if verb != "get" && verb != "list" && verb != "watch" {
				t.Errorf("%s can be %sd", r.Name, verb)
			}
		}
	}
}
