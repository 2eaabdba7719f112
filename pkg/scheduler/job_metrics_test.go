// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/metrics"
)

// seriesOf returns the number of series of a metric.
func seriesOf(t *testing.T, metric string) int {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == metric {
			return len(family.GetMetric())
		}
	}
	return 0
}

// TestTheMetricsOfAJobEndWithIt, also if a session had the job when it was deleted, and has written them since.
func TestTheMetricsOfAJobEndWithIt(t *testing.T) {
	const unscheduled, latency = "volcano_unschedule_task_count", "volcano_e2e_job_scheduling_duration"
	counted := newPodsFixture(t, wholePod("p", ""))
	counted.Lock()
	counted.Jobs["ns/job"].Name = "job"
	counted.Unlock()
	atFirst := seriesOf(t, unscheduled) + seriesOf(t, latency)
	written := func() {
		metrics.UpdateUnscheduleTaskCount("job", 1)
		metrics.UpdateE2eSchedulingDurationByJob("job", "q", "ns", 1)
	}
	written()
	counted.Snapshot()
	if seriesOf(t, unscheduled)+seriesOf(t, latency) != atFirst+2 {
		t.Error("the metrics of a job that exists are gone")
	}
	counted.Lock()
	job := counted.Jobs["ns/job"]
	delete(counted.Jobs, "ns/job")
	counted.Unlock()
	written() // by the session that was open
	counted.Snapshot()
	if n := seriesOf(t, unscheduled) + seriesOf(t, latency); n != atFirst {
		t.Errorf("%d series are left", n-atFirst)
	}
	counted.Lock()
	job.Queue = "q"
	counted.Jobs["ns/job"] = job
	counted.Unlock()
	counted.Snapshot()
	written()
	moved := job.Clone()
	counted.Lock()
	moved.Queue = "other"
	counted.Queues["other"] = &api.QueueInfo{UID: "other", Name: "other", Queue: counted.Queues["q"].Queue}
	counted.Jobs["ns/job"] = moved
	counted.Unlock()
	counted.Snapshot()
	if n := seriesOf(t, latency); n != 0 {
		t.Error("the metrics of the former queue are left")
	}
}
