// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// apiServer answers each list with one object.
type apiServer struct {
	// forgotten are resources without versions of an earlier time. The second page of each resource in pages has expired.
	forgotten, pages []string
	// lists are the requested lists: the resource and its version.
	lists []string
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := filepath.Base(r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	fail := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: int32(code), Reason: reason, Message: "no"})
	}
	query := r.URL.Query()
	switch {
	case name == "version":
		_, _ = w.Write([]byte(`{"gitVersion": "v1.34.1"}`))
	case slices.Contains(s.forgotten, name) && query.Get("resourceVersionMatch") == "Exact", query.Get("continue") != "":
		fail(http.StatusGone, metav1.StatusReasonExpired)
	default:
		s.lists = append(s.lists, strings.TrimSpace(name+" "+query.Get("resourceVersionMatch")+query.Get("resourceVersion")))
		next := ""
		if slices.Contains(s.pages, name) && query.Get("limit") != "" {
			next = "second"
		}
		item := map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": name}}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": "v1", "kind": "ThingList", "metadata": map[string]any{"resourceVersion": "7", "continue": next}, "items": []any{item},
		})
	}
}

func (s *apiServer) read(t *testing.T) *State {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	state, err := Read(t.Context(), &rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestAllObjectsAreThoseOfOneTime(t *testing.T) {
	s := &apiServer{forgotten: []string{"queues"}, pages: []string{"pods"}}
	state := s.read(t)
	for i, list := range s.lists {
		switch list {
		case "nodes", "queues", "pods": // the first list, one without the earlier version, and one that is read again
		default:
			if !strings.HasSuffix(list, " Exact7") {
				t.Errorf("list %d is %s, want it as of the first one", i, list)
			}
		}
	}
	if len(state.Items) != len(resources) {
		t.Errorf("%d objects, want one of each of %d resources: each page counts once", len(state.Items), len(resources))
	}
	if len(state.Unread) > 0 {
		t.Errorf("not read: %q", state.Unread)
	}
}

func TestAConfigurationHasNoPassword(t *testing.T) {
	s := &State{}
	if err := s.Configure("actions: allocate\nmetrics:\n  elasticsearch.password: hunter2\n"); err != nil || s.Configuration != "actions: allocate\n" {
		t.Errorf("got %q, %v", s.Configuration, err)
	}
}

// written writes a state to a file with this name.
func written(t *testing.T, state *State, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	var text strings.Builder
	if err := state.Write(&text, name); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestDamagedFilesAreRefused(t *testing.T) {
	state := &State{APIVersion: APIVersion, Kind: Kind, Kubernetes: "v1.34.1", Items: parse(t, secretive)}
	for _, name := range []string{"state.yaml", "state.yaml.gz"} {
		whole, err := os.ReadFile(written(t, state, name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), name)
		end := len(whole)
		if name == "state.yaml" { // the kind, the version, and the time follow the objects
			end = strings.Index(string(whole), "\nkind: ") + len("\nkind: ")
		}
		for cut := range end {
			if err := os.WriteFile(file, whole[:cut], 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadFile(file); err == nil {
				t.Fatalf("%s is read although it has only %d of %d bytes", name, cut, len(whole))
			}
		}
	}
	for text, want := range map[string]string{
		"":                             "take it with kubectl devicequota snapshot",
		"\x1f\x8bno gzip":              "is cut off or damaged",
		"apiVersion: v1\nkind: List\n": `has the kind "List" of "v1": take it with kubectl devicequota snapshot`,
		"[1, 2]":                       "is no file of kubectl devicequota snapshot, or is damaged",
		"items: [1]":                   "is no file of kubectl devicequota snapshot, or is damaged",
		"items: [{metadata: {}}]":      "'Kind' is missing",
		"apiVersion: " + APIVersion:    "is cut off: it has no kind",
	} {
		file := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got the error %v, want %s", text, err, want)
		}
	}
}
