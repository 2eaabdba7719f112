// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// markup does something if a page takes it for markup.
const markup = `<img src=x onerror="window.harmed=true"><script>window.harmed=true</script>"'><svg onload=window.harmed=true>`

func TestNamesAndMessagesAreNeverMarkup(t *testing.T) {
	dimension := object{"kind": "Card", "name": markup}
	with := func(base object, more object) object {
		all := object{}
		for _, part := range []object{base, more} {
			for key, value := range part {
				all[key] = value
			}
		}
		return all
	}
	holder := object{"kind": markup, "namespace": markup, "name": markup, "uid": markup, "workload": markup, "queue": markup, "node": markup, "state": markup,
		"charged": []any{with(dimension, object{"amount": "1"})}, "shares": []any{with(dimension, object{"amount": "1"})}}
	refusal := object{"reason": markup, "message": markup, "pods": 1, "queue": markup}
	check := object{"name": markup, "result": markup, "message": markup}
	s := newFakeScheduler(t)
	s.publish(map[string][]any{
		"queues": {object{"name": markup, "parent": "", "state": markup, "jobs": object{markup: 1}, "problems": []any{object{"reason": markup, "message": markup}},
			"figures": []any{with(dimension, object{"allocated": "1", "request": "2", "limit": "4", "deserved": "2", "limitedBy": markup})}}},
		"workloads": {object{"namespace": markup, "name": markup, "uid": markup, "queue": markup, "phase": markup, "waits": refusal,
			"owner": object{"kind": markup, "name": markup, "namespace": markup}}},
		"holders": {holder},
		"history": {with(dimension, object{"queue": markup, "values": []int{1, 2}})},
	})
	s.mu.Lock()
	s.heads = map[string]object{"history": {"times": minutes(2)}}
	s.explanation = object{"subject": object{"kind": markup, "namespace": markup, "name": markup}, "state": markup, "cause": refusal, "checks": []any{check},
		"pods":  []any{object{"count": 1, "state": markup, "cause": refusal, "example": object{"name": markup}}},
		"nodes": []any{object{"count": 1, "message": markup, "nodes": []any{markup}}}, "holders": []any{holder},
		"supplies": []any{with(dimension, object{"free": 1, "total": 2, "places": []any{object{"node": markup, "free": 1, "total": 2}, object{"pool": markup, "free": 0, "total": 1}}})},
		"eviction": object{"message": markup, "rule": markup, "victims": []any{holder}}}
	s.mu.Unlock()
	b := open(t, s.url, desktopWidth, desktopHeight)
	harmless := func(where string) {
		t.Helper()
		if !script[bool](b, "window.harmed === undefined && document.querySelector('#view img, #view script, aside img, aside script, option img') === null") {
			t.Errorf("%s: names are taken for markup", where)
		}
	}
	for _, view := range views {
		b.show(view)
		b.waitFor("the name as it is", fmt.Sprintf("document.getElementById('view').textContent.includes(%q)", markup))
		harmless(view)
	}
	b.show("waiting")
	b.waitFor("the explanation", fmt.Sprintf(`(() => {
		document.querySelector('#view td button')?.click();
		return document.getElementById('explanation').textContent.includes(%q);
	})()`, markup))
	harmless("explanation")
}

func TestThePageOfTheSchedulerRunsNoScriptOfOthers(t *testing.T) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cluster.page, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got := answer.Header.Get("Content-Security-Policy") // through the API server
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(got, part) {
			t.Errorf("the policy is %q, and lacks %s", got, part)
		}
	}
}
