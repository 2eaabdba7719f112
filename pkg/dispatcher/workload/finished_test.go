// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestFinished(t *testing.T) {
	workflow := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Job"}
	for _, c := range []struct {
		kind   schema.GroupVersionKind
		status string
		want   string
	}{
		{VolcanoJob, `{"state":{"phase":"Completed"},"succeeded":2}`, "Completed"},
		{VolcanoJob, `{"state":{"phase":"Failed"}}`, "Failed"},
		{VolcanoJob, `{"state":{"phase":"Terminated"}}`, "Terminated"},
		{VolcanoJob, `{"state":{"phase":"Aborted"}}`, "Aborted"},
		{VolcanoJob, `{"state":{"phase":"Completing"}}`, ""},
		{VolcanoJob, `{"state":{"phase":"Aborting"}}`, ""},
		{VolcanoJob, `{"state":{"phase":"Completed"},"succeeded":1,"running":1}`, ""},
		{VolcanoJob, `{"state":{"phase":"Completed"},"succeeded":1,"terminating":1}`, ""},
		{VolcanoJob, `{"state":{"phase":"Failed"},"pending":1}`, ""},
		{VolcanoJob, `{"state":{"phase":"Failed"},"unknown":1}`, ""},
		{VolcanoJob, `{}`, ""},
		{VolcanoJob, `null`, ""},
		{VolcanoJob, ``, ""},
		{PodGroup, `{"phase":"Completed"}`, "Completed"},
		{PodGroup, `{"phase":"Unknown"}`, ""},
		{Job, `{"conditions":[{"type":"Suspended","status":"False"},{"type":"Complete","status":"True"}]}`, "Complete"},
		{Job, `{"conditions":[{"type":"FailureTarget","status":"True"}]}`, ""},
		{Job, `{"conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]}`, "Failed"},
		{Job, `{"conditions":[{"type":"Complete","status":"False"}]}`, ""},
		{Pod, `{"phase":"Succeeded"}`, "Succeeded"},
		{Pod, `{"phase":"Failed"}`, "Failed"},
		{Pod, `{"phase":"Running"}`, ""},
		{appsv1.SchemeGroupVersion.WithKind("Deployment"), `{"phase":"Failed","state":{"phase":"Failed"},"conditions":[{"type":"Failed","status":"True"}]}`, ""},
		{StatefulSet, `{}`, ""},
		{workflow, `{"conditions":[{"type":"Complete","status":"True"}]}`, ""},
	} {
		ended, finished, err := Finished(c.kind, []byte(c.status))
		if ended != c.want || finished != (c.want != "") || err != nil {
			t.Errorf("%s %s: got %q %t %v, want %q", c.kind.Kind, c.status, ended, finished, err, c.want)
		}
	}
}

func TestAStatusThatCannotBeReadIsNoEnd(t *testing.T) {
	for _, kind := range []schema.GroupVersionKind{VolcanoJob, PodGroup, Job, Pod} { // the others never end
		for _, status := range []string{`{`, `[]`, `"Completed"`, `{"phase":1,"state":[],"conditions":{}}`} {
			ended, finished, err := Finished(kind, []byte(status))
			if ended != "" || finished || err == nil || !strings.Contains(err.Error(), "the status of a "+kind.Kind+" cannot be read: ") {
				t.Errorf("%s %s: got %q %t %v", kind, status, ended, finished, err)
			}
		}
	}
}

func FuzzFinished(f *testing.F) {
	f.Add(`{"state":{"phase":"Completed"}}`)
	f.Add(`{"conditions":[{"type":"Complete","status":"True"}]}`)
	f.Fuzz(func(t *testing.T, status string) {
		for _, kind := range Kinds {
			if ended, finished, err := Finished(kind, []byte(status)); finished != (ended != "") || finished && err != nil {
				t.Errorf("%s: %q %t %v", kind, ended, finished, err)
			}
		}
	})
}
