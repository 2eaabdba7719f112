// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/metric"
)

// waitingSeries lists the series of a queue.
func waitingSeries(t *testing.T, queue string) string {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, family := range families {
		if family.GetName() != metric.QueueWaitingPods.Name {
			continue
		}
		for _, series := range family.GetMetric() {
			if labels := series.GetLabel(); labels[0].GetValue() == queue {
				all = append(all, fmt.Sprintf("%s %g", labels[1].GetValue(), series.GetGauge().GetValue()))
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestPodsThatWaitAreCountedByQueueAndReason(t *testing.T) {
	f := newFixture(t)
	full, broken, quiet := refusal{"Full", "the queue is full"}, refusal{"Broken", "a claim is broken"}, refusal{"", "read again"}
	jobs := map[string]*api.JobInfo{}
	tasks := map[string]*api.TaskInfo{}
	for _, name := range []string{"a", "b", "c", "gang"} {
		jobs[name], tasks[name] = f.job(name)
		jobs[name].Queue = "waiting"
	}
	gang := api.NewJobInfo("ns/waiting-gang")
	gang.SetPodGroup(&api.PodGroup{PodGroup: scheduling.PodGroup{
		Spec:   scheduling.PodGroupSpec{Queue: "waiting", MinMember: 3},
		Status: scheduling.PodGroupStatus{Phase: scheduling.PodGroupPending},
	}})
	f.jobs[gang.UID] = gang

	for _, session := range []struct {
		name   string
		refuse func()
		want   string
	}{
		{"pods that are refused for two reasons, and one without an event", func() {
			f.RefusePod(jobs["a"], tasks["a"], full)
			f.RefusePod(jobs["b"], tasks["b"], broken)
			f.RefusePod(jobs["c"], tasks["c"], quiet)
		}, "Broken 1, Full 1, Unschedulable 1"},
		{"two for one reason", func() {
			f.RefusePod(jobs["a"], tasks["a"], full)
			f.RefusePod(jobs["b"], tasks["b"], full)
		}, "Full 2"},
		{"a gang without pods that is not admitted counts with its minimum", func() { f.RefuseJob(gang, full) }, "Full 3"},
		{"a job that is not admitted counts with its pods, and a pod of it that is refused as well counts once", func() {
			f.RefuseJob(jobs["gang"], full)
			f.RefusePod(jobs["gang"], tasks["gang"], broken)
		}, "Full 1"},
		{"a pod that got a node after all", func() {
			f.RefusePod(jobs["a"], tasks["a"], full)
			if err := jobs["a"].UpdateTaskStatus(tasks["a"], api.Allocated); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		f.Begin("session")
		session.refuse()
		f.Refusals(f.jobs)
		if got := waitingSeries(t, "waiting"); got != session.want {
			t.Errorf("%s: the series are %q, want %q", session.name, got, session.want)
		}
		for len(f.events.Events) > 0 {
			<-f.events.Events
		}
	}
}
