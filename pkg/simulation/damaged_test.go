// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/devicequota/devicequota/pkg/clusterstate"
)

// TestStatesThatWereEditedAreRefused: a user who edits a file must not wait forever for an answer.
func TestStatesThatWereEditedAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: Node\nmetadata: {name: node-9}\nstatus: {allocatable: {cpu: many}}":                                "Node node-9 of v1 is not valid: quantities must match",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: team, labels: [a]}":                                            "Pod team/p of v1 is not valid: ",
		"apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: g, namespace: team}\nspec: {minMember: two}": "PodGroup team/g of scheduling.volcano.sh/v1beta1 is not valid: ",
		"apiVersion: v1beta9\nkind: Pod\nmetadata: {name: p}":                                                                     "Pod p of v1beta9: the scheduler reads it as v1",
	} {
		s := stateOf(t)
		s.Lay(parsed(t, text)...)
		if _, err := Run(t.Context(), s, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got the error %v, want %s", text, err, want)
		}
	}
	s := stateOf(t)
	s.Kubernetes = "latest"
	if _, err := Run(t.Context(), s, nil); err == nil || !strings.Contains(err.Error(), `"latest" as the version of Kubernetes`) {
		t.Errorf("got the error %v", err)
	}
}

// TestStatesWithHolesHaveAnswers removes one object after the other from a state with running and waiting jobs. A user may not have the right to
// read an object, or it was deleted while the cluster was read.
func TestStatesWithHolesHaveAnswers(t *testing.T) {
	whole := run(t, stateOf(t, job{Name: "holds", Queue: "b", Pods: 2}, job{Name: "large", Queue: "a", Pods: 9})).After
	seen := map[string]bool{}
	for i := range whole.Items {
		kind := whole.Items[i].GetKind()
		if kind == "Event" || seen[kind] {
			continue
		}
		seen[kind] = true
		s := whole.Copy()
		s.Items = slices.DeleteFunc(s.Items, func(o clusterstate.Object) bool { return o.GetKind() == kind })
		if _, err := Run(t.Context(), s, func(*Workload) bool { return true }); err != nil {
			t.Errorf("without objects of the kind %s: %v", kind, err)
		}
	}
	if len(seen) < 9 {
		t.Errorf("the state has the kinds %v only", seen)
	}
}

// TestNobodyCountsToBillions: an annotation of a pod may have any number.
func TestNobodyCountsToBillions(t *testing.T) {
	s := stateOf(t)
	s.Lay(parsed(t, `
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: team, annotations: {scheduling.volcano.sh/queue-name: a, scheduling.volcano.sh/group-min-member: "2147483647"}}
spec: {schedulerName: volcano, containers: [{name: c, image: i}]}
`)...)
	if _, err := Run(t.Context(), s, nil); err != nil {
		t.Error(err)
	}
}

// TestNoServerIsAsked: the configuration names a server with the usage of nodes, and an extender.
func TestNoServerIsAsked(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	s := stateOf(t, job{Name: "train", Queue: "a", Pods: 1})
	s.Configuration += "- plugins:\n  - name: usage\n  - name: extender\n    arguments: {extender.urlPrefix: " + server.URL +
		", extender.onSessionOpenVerb: open, extender.predicateVerb: filter}\nmetrics: {type: prometheus, address: " + server.URL + ", interval: 1ms}\n"
	if w := run(t, s).of(t, "train"); w.Verdict != Starts {
		t.Errorf("%+v, want a job that starts", w)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestAJobThatWaitsIsExplainedWithAPod(t *testing.T) {
	s := stateOf(t, job{Name: "wide", Queue: "b", Pods: 1}, job{Name: "other", Queue: "a", Pods: 1})
	for i := range s.Items {
		if s.Items[i].GetKind() == "ResourceSlice" { // let in, but without devices
			s.Items = slices.Delete(s.Items, i, i+1)
			break
		}
	}
	out, err := Run(t.Context(), s, func(w *Workload) bool { return w.Name == "wide" })
	if err != nil {
		t.Fatal(err)
	}
	w := out.of(t, "wide")
	if w.Verdict != Waits || w.Why == nil || len(w.Explanations) == 0 {
		t.Fatalf("%+v, want a job that waits, and why", w)
	}
	last := w.Explanations[len(w.Explanations)-1]
	if last.Cause == nil || len(last.Checks) == 0 {
		t.Errorf("%+v, want a cause and checks", last)
	}
	if other := out.of(t, "other"); len(other.Explanations) > 0 {
		t.Errorf("%+v is explained, though nobody asked", other)
	}
}
