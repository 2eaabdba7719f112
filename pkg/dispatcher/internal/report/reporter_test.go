// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"

	"k8s.io/client-go/tools/record"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// TestACycleIsToldEverywhere checks that events, metrics, and queues agree.
func TestACycleIsToldEverywhere(t *testing.T) {
	queues := newQueues(t, "root", "team")
	metrics, registry := newMetrics(t)
	queues.metrics = metrics
	events := newEvents(record.NewFakeRecorder(10))
	r := New(events, queues.QueueWriter, metrics)
	l, snapshot := books(t)
	waits, lost := job("train", "team"), job("lost", "no-such-queue")
	snapshot.Workloads = []*framework.Workload{waits, lost}
	for range 3 {
		r.Cycle(&Cycle{
			Snapshot: snapshot, Usage: UsageOf(l, snapshot, nil), Duration: time.Second,
			Decisions: []Decision{Held(waits, short(9)), NoPolicy(lost)},
		})
	}
	if got := len(events.backlog.notes); got != 2 {
		t.Errorf("%d events wait, want 2", got)
	}
	const decisions = "{decision=held,queue=team} 1\n{decision=held,queue=} 1"
	if got := series(t, registry, prefix+"decisions_total"); got != decisions {
		t.Errorf("the decisions are\n%s, want\n%s", got, decisions)
	}
	if got, want := series(t, registry, prefix+"cycle_duration_seconds"), "{} 3"; got != want {
		t.Errorf("the cycles are %s, want %s", got, want)
	}
	if err := queues.write(t.Context()); err != nil || len(queues.written) != 2 {
		t.Errorf("written are %v, error %v", queues.written, err)
	}
	queues.watched()
	team, err := queues.lister.Get("team")
	if err != nil || team.Status.Pending != 1 || team.Status.Allocated.Cpu().String() != "3" {
		t.Errorf("the status is %v, error %v", team.Status, err)
	}
}
