// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	apiPath = "/apis/visibility.devicequota.io/v1alpha1/"
	h100    = "nvidia-h100"
)

// object is an object in JSON.
type object = map[string]any

// fakeScheduler serves the page, and what a test says. It has no policy for browsers, so that the page is safe by itself.
type fakeScheduler struct {
	url string

	mu sync.Mutex
	// items has what lists have, by resource.
	items       map[string][]any
	explanation object
	// heads has what comes before the items of a list, by resource.
	heads map[string]object
	// forbidden are paths that nobody may read.
	forbidden []string
	// sessions counts publications, and next is closed at the next one.
	sessions int
	next     chan struct{}
	// reads counts how often lists were read, by resource.
	reads map[string]int
}

func newFakeScheduler(t *testing.T) *fakeScheduler {
	s := &fakeScheduler{items: map[string][]any{}, next: make(chan struct{}), reads: map[string]int{}}
	mux := http.NewServeMux()
	mux.Handle(apiPath+"ui/", http.StripPrefix(apiPath+"ui/", http.FileServer(http.Dir(filepath.Join(root, "pkg/visibility/ui/page")))))
	mux.HandleFunc(apiPath+"updates", s.updates)
	mux.HandleFunc(apiPath, s.list)
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.url = server.URL + apiPath + "ui/"
	return s
}

// publish changes what lists have, and tells those who follow.
func (s *fakeScheduler) publish(items map[string][]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for resource, all := range items {
		s.items[resource] = all
	}
	s.sessions++
	close(s.next)
	s.next = make(chan struct{})
}

// read returns how often a list was read.
func (s *fakeScheduler) read(resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads[resource]
}

func (s *fakeScheduler) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	resource := path.Base(r.URL.Path)
	if resource == "explanation" {
		_ = json.NewEncoder(w).Encode(s.explanation) // the browser may have left
		return
	}
	if slices.Contains(s.forbidden, r.URL.Path) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"kind":"Status","message":"%s is forbidden"}`, resource)
		return
	}
	items := s.items[resource]
	if items == nil {
		items = []any{}
	}
	s.reads[resource]++
	text, err := json.Marshal(items)
	if err != nil {
		panic(err)
	}
	head := ""
	for field, value := range s.heads[resource] {
		content, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		head += fmt.Sprintf(`,%q:%s`, field, content)
	}
	fmt.Fprintf(w, `{"kind":"List","snapshot":{"time":%q,"session":"%d"}%s,"items":%s}`, time.Now().UTC().Format(time.RFC3339Nano), s.sessions, head, text)
}

func (s *fakeScheduler) updates(w http.ResponseWriter, r *http.Request) {
	if slices.Contains(s.forbidden, r.URL.Path) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		s.mu.Lock()
		session, next := s.sessions, s.next
		s.mu.Unlock()
		fmt.Fprintf(w, "event: snapshot\ndata: {\"session\":\"%d\"}\n\n", session)
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-next:
		case <-r.Context().Done():
			return
		}
	}
}

// figures has what a queue has allocated of a class. A limit below zero is none.
func figures(class string, allocated, limit int) object {
	f := object{"kind": "Device", "name": class, "allocated": fmt.Sprint(allocated), "request": fmt.Sprint(allocated), "releasing": "0", "promised": "0", "inqueue": "0", "elastic": "0"}
	if limit >= 0 {
		f["limit"] = fmt.Sprint(limit)
	}
	return f
}

func queue(name, parent string, of ...object) object {
	return object{"name": name, "parent": parent, "state": "Open", "figures": of}
}

// organization returns queues in three levels below root, each with three classes: 10 divisions with 10 teams with 9 projects.
func organization(allocated int) []any {
	all := []any{queue("root", "")}
	add := func(name, parent string) {
		all = append(all, queue(name, parent, figures("a100", 1, 4), figures(h100, allocated, 8), figures("l40s", 2, -1)))
	}
	for d := range 10 {
		division := fmt.Sprintf("division-%d", d)
		add(division, "root")
		for t := range 10 {
			team := fmt.Sprintf("%s-team-%d", division, t)
			add(team, division)
			for p := range 9 {
				add(fmt.Sprintf("%s-project-%d", team, p), team)
			}
		}
	}
	return all
}
