// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
)

func fetch(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	recorder := httptest.NewRecorder()
	Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return recorder
}

func TestThePageHasAllThatItRefersTo(t *testing.T) {
	queue, seen := []string{"/"}, map[string]bool{}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		got := fetch(t, path)
		if got.Code != http.StatusOK {
			t.Fatalf("%s: %d", path, got.Code)
		}
		for _, match := range regexp.MustCompile(`(?:src="|from '|href=")(?:\./)?([a-z]+\.(?:js|css))`).FindAllStringSubmatch(got.Body.String(), -1) {
			queue = append(queue, "/"+match[1])
		}
	}
	if len(seen) < 8 {
		t.Errorf("only %v are loaded", seen)
	}
}

func TestThePageLoadsNothingFromElsewhere(t *testing.T) {
	got := fetch(t, "/")
	if policy := got.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
	if strings.Contains(got.Body.String(), "<script>") || strings.Contains(got.Body.String(), "style=") {
		t.Error("the page has code or style of its own, which the policy forbids")
	}
}

// TestThePageKnowsWhatKindsMeasure: the page has a list of the kinds with amounts that are not counts.
func TestThePageKnowsWhatKindsMeasure(t *testing.T) {
	var want []string
	for _, kind := range ledger.Kinds {
		if kind.Unit == "" {
			want = append(want, kind.Shown+": '"+[]string{"name", "capacity"}[len(kind.Labels)-1]+"'")
		}
	}
	list := "const measures = {" + strings.Join(want, ", ") + "};"
	if got := fetch(t, "/amounts.js").Body.String(); !strings.Contains(got, list) {
		t.Errorf("amounts.js lacks %s", list)
	}
}
