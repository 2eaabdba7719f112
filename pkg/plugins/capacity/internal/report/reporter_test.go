// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
)

const podEvent = " involvedObject{kind=Pod,apiVersion=v1}"

func TestAPodIsToldItsNewsOnce(t *testing.T) {
	f := newFixture(t)
	job, task := f.job("p")
	first, second := refusal{"Reason", "the quota is used up"}, refusal{"Reason", "no devices"}
	for _, session := range []struct {
		name     string
		refusals []Refusal
		status   api.TaskStatus
		event    []string
		// want is the message of the pod's condition.
		want string
	}{
		{name: "a refusal", refusals: []Refusal{first}, status: api.Pending, event: []string{"Warning Reason the quota is used up" + podEvent}, want: first.message},
		{name: "the same", refusals: []Refusal{first}, status: api.Pending, want: first.message},
		{name: "the first refusal of a session counts", refusals: []Refusal{first, second}, status: api.Pending, want: first.message},
		{name: "another one", refusals: []Refusal{second}, status: api.Pipelined, event: []string{"Warning Reason no devices" + podEvent}, want: second.message},
		{name: "a refusal without a reason has no event", refusals: []Refusal{refusal{"", "a moment"}}, status: api.Pending, want: "a moment"},
		{name: "a session that does not ask", status: api.Pending},
		{name: "and the refusal before", refusals: []Refusal{refusal{"", "a moment"}}, status: api.Pending, want: "a moment"},
		{name: "a pod that runs after all", refusals: []Refusal{first}, status: api.Running},
		{name: "and waits again", refusals: []Refusal{first}, status: api.Pending, event: []string{"Warning Reason the quota is used up" + podEvent}, want: first.message},
	} {
		f.Begin("session")
		job.NodesFitErrors, job.JobFitErrors = map[api.TaskID]*api.FitErrors{}, ""
		must(t, job.UpdateTaskStatus(task, session.status))
		for _, refusal := range session.refusals {
			f.RefusePod(job, task, refusal)
		}
		if f.Refused(task.UID) != (len(session.refusals) > 0) {
			t.Errorf("%s: the pod is refused: %t", session.name, f.Refused(task.UID))
		}
		if len(session.refusals) > 0 && job.JobFitErrors != session.refusals[0].Message() {
			t.Errorf("%s: the job would say %q", session.name, job.JobFitErrors)
		}
		if len(job.NodesFitErrors) > 0 {
			t.Errorf("%s: the pod has fit errors while the session runs, so that upstream skips pods of its task", session.name)
		}
		f.Refusals(f.jobs)
		f.expectEvents(session.name, session.event...)
		var got string
		if errs := job.NodesFitErrors[task.UID]; errs != nil {
			got = errs.Error()
		}
		if got != session.want {
			t.Errorf("%s: the pod's condition would say %q, want %q", session.name, got, session.want)
		}
	}
}

func TestARefusalKeepsWhatTheJobSaysAlready(t *testing.T) {
	f := newFixture(t)
	job, task := f.job("p")
	job.JobFitErrors = "something else"
	f.RefusePod(job, task, refusal{"Reason", "message"})
	_, stray := f.job("stray")
	f.RefusePod(nil, stray, refusal{"Reason", "message"}) // the session lacks its job
	if job.JobFitErrors != "something else" || !f.Refused(stray.UID) {
		t.Errorf("the job would say %q; the pod without a job is refused: %t", job.JobFitErrors, f.Refused(stray.UID))
	}
	delete(f.jobs, stray.Job)
	f.Refusals(f.jobs)
	f.expectEvents("a pod whose job is gone has none", "Warning Reason message"+podEvent)
}

func TestAPodGroupAndItsPodsAreToldTheirNewsOnce(t *testing.T) {
	const group = " involvedObject{kind=PodGroup,apiVersion=scheduling.volcano.sh/v1beta1}"
	f := newFixture(t)
	job, _ := f.job("j")
	full := refusal{"Reason", "the queue is full"}
	for _, session := range []struct {
		name    string
		refusal Refusal
		phase   scheduling.PodGroupPhase
		event   []string
	}{
		{"a refusal", full, scheduling.PodGroupPending, []string{"Warning Reason the queue is full" + group, "Warning Reason the queue is full" + podEvent}},
		{"the same", full, scheduling.PodGroupPending, nil},
		{"a refusal without a reason", refusal{"", "a moment"}, scheduling.PodGroupPending, nil},
		{"the refusal before", full, scheduling.PodGroupPending, []string{"Warning Reason the queue is full" + group, "Warning Reason the queue is full" + podEvent}},
		{"the job is admitted", nil, scheduling.PodGroupInqueue, nil},
		{"and waits again, as its pod did", full, scheduling.PodGroupPending, []string{"Warning Reason the queue is full" + group}},
	} {
		f.Begin("session")
		job.PodGroup.Status.Phase, job.JobFitErrors = session.phase, ""
		if session.refusal != nil {
			if f.RefuseJob(job, session.refusal); job.JobFitErrors != session.refusal.Message() {
				t.Errorf("%s: the job would say %q", session.name, job.JobFitErrors)
			}
		}
		f.Refusals(f.jobs)
		f.expectEvents(session.name, session.event...)
	}
	f.Begin("session")
	f.RefuseJob(job, refusal{"Reason", "news"})
	f.Refusals(nil)
	f.expectEvents("a job that is gone")
	if len(f.notifiedJobs) > 0 {
		t.Error("a job that is gone is remembered")
	}
}

func TestWaits(t *testing.T) {
	f := newFixture(t)
	job, task := f.job("p")
	for status, want := range map[api.TaskStatus]bool{api.Pending: true, api.Pipelined: true, api.Allocated: false, api.Binding: false, api.Running: false} {
		must(t, job.UpdateTaskStatus(task, status))
		if got := Waits(f.jobs, job.UID, task.UID); got != want {
			t.Errorf("a pod that is %s waits: %t", status, got)
		}
	}
	if Waits(f.jobs, "gone", task.UID) {
		t.Error("a pod of a job that is gone waits")
	}
}

// TestAMessageIsNotWrittenAgainForEachChangeOfUsage: thousands of jobs may wait in a queue where something starts each second.
func TestAMessageIsNotWrittenAgainForEachChangeOfUsage(t *testing.T) {
	f := newFixture(t)
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	f.Clock = clock
	refused, _ := f.job("refused")
	admitted, pod := f.job("admitted")
	full := func(limit, used int) Refusal {
		return refusal{"Full", fmt.Sprintf("Queue <q> has insufficient <cpu> quota: requested <1>, total would be <%d>, but capability is <%d>", used+1, limit)}
	}
	for _, session := range []struct {
		name    string
		second  int64
		refusal Refusal
		wants   string
		news    bool
	}{
		{"a refusal", 0, full(4, 4), "total would be <5>, but capability is <4>", true},
		{"others have ended, and larger ones have started", 1, full(4, 6), "total would be <5>, but capability is <4>", false},
		{"the quota has changed", 2, full(5, 6), "total would be <7>, but capability is <5>", true},
		{"the usage a minute later", 62, full(5, 5), "total would be <6>, but capability is <5>", true},
		{"and soon after", 63, full(5, 7), "total would be <6>, but capability is <5>", false},
	} {
		clock.SetTime(time.Unix(1000+session.second, 0))
		f.Begin("session")
		refused.JobFitErrors, admitted.JobFitErrors = "", ""
		f.RefuseJob(refused, session.refusal)
		f.RefusePod(admitted, pod, session.refusal)
		f.Refusals(f.jobs)
		events := 0
		for range len(f.events.Events) {
			if event := <-f.events.Events; strings.Contains(event, session.wants) {
				events++
			}
		}
		if session.news && events != 3 || !session.news && events > 0 {
			t.Errorf("%s: %d events say %q, want one for the PodGroup and one for each pod, if it is news: %t", session.name, events, session.wants, session.news)
		}
		for _, job := range []*api.JobInfo{refused, admitted} {
			if why, _ := f.WhyJob(job.UID); why.Message() != session.refusal.Message() {
				t.Errorf("%s: who asks hears %q, not the usage of now", session.name, why.Message())
			}
			if c := waiting(job); !strings.HasSuffix(c.Message, session.wants) || job.JobFitErrors != c.Message {
				t.Errorf("%s: the condition says %q, and the job %q, want %q", session.name, c.Message, job.JobFitErrors, session.wants)
			}
		}
	}
}
