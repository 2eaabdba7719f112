// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"volcano.sh/apis/pkg/apis/scheduling"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// fixture is a reporter with readable events, and the jobs and queues of a session.
type fixture struct {
	*testing.T
	*Reporter
	// counter has the dimensions of the accounts.
	counter *demand.Counter
	events  *record.FakeRecorder
	jobs    map[api.JobID]*api.JobInfo
	queues  map[api.QueueID]*api.QueueInfo
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, counter: newCounter(), events: record.NewFakeRecorder(10), jobs: map[api.JobID]*api.JobInfo{}, queues: map[api.QueueID]*api.QueueInfo{}}
	f.events.IncludeObject = true
	f.Reporter = NewReporter(f.events)
	return f
}

func newCounter() *demand.Counter {
	return demand.NewCounter(&card.Fleet{}, func(corev1.ResourceName) bool { return false })
}

// ordinal returns the place of a dimension in the accounts.
func (f *fixture) ordinal(kind ledger.Kind, name, capacity string) ledger.Ordinal {
	return f.counter.Dimensions.Ordinal(ledger.Dimension{Kind: kind, Name: name, Capacity: capacity})
}

// must ends a test with an error, unless it is nil.
func must(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// job adds a job with a pod of the same name.
func (f *fixture) job(name string) (*api.JobInfo, *api.TaskInfo) {
	task := api.NewTaskInfo(&corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID(name), Annotations: map[string]string{schedulingv1beta1.KubeGroupNameAnnotationKey: name},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	})
	job := api.NewJobInfo(task.Job, task)
	job.SetPodGroup(&api.PodGroup{PodGroup: scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Status: scheduling.PodGroupStatus{Phase: scheduling.PodGroupPending},
	}})
	f.jobs[job.UID] = job
	return job, task
}

func (f *fixture) queue(name string) {
	f.queues[api.QueueID(name)] = api.NewQueueInfo(&scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// opened returns the state of PodGroups when a session opens.
func (f *fixture) opened() *api.PodGroupOldState {
	opened := &api.PodGroupOldState{Status: map[api.JobID]scheduling.PodGroupStatus{}}
	for id, job := range f.jobs {
		opened.Status[id] = *job.PodGroup.Status.DeepCopy()
	}
	return opened
}

// end ends a session that has changed no PodGroup and has no dirty job.
func (f *fixture) end() { f.End(f.jobs, f.opened(), nil) }

// expectEvents compares the events since the last call.
func (f *fixture) expectEvents(when string, want ...string) {
	f.Helper()
	var got []string
	for len(f.events.Events) > 0 {
		got = append(got, <-f.events.Events)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		f.Errorf("%s: events are\n%q, want\n%q", when, got, want)
	}
}

// expectWords compares what a refusal or an eviction says.
func expectWords(t *testing.T, said Refusal, reason, message string) {
	t.Helper()
	if got := said.Message(); got != message {
		t.Errorf("%T says\n%s, want\n%s", said, got, message)
	}
	if got := said.Reason(); got != reason {
		t.Errorf("%T has the reason %q, want %q: %s", said, got, reason, message)
	}
}

// refusal is a refusal with these words.
type refusal struct{ reason, message string }

func (r refusal) Reason() string  { return r.reason }
func (r refusal) Message() string { return r.message }
