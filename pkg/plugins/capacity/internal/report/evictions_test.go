// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

var (
	h100   = ledger.Dimension{Kind: ledger.DeviceCount, Name: "nvidia-h100"}
	memory = ledger.Dimension{Kind: ledger.Resource, Name: "memory"}
)

func gib(n int64) ledger.Amount { return ledger.Units(n << 30) }

func TestWhyPodsAreEvicted(t *testing.T) {
	for _, c := range []struct {
		eviction        Eviction
		reason, message string
	}{
		{
			Reclaimed{
				Pod: "ns/p", Queue: "team-b", VictimQueue: "team-a", Dimension: h100,
				Gains: QueueShare{"team-b", ledger.Units(1), ledger.AtMost(ledger.Units(2))}, Loses: QueueShare{"team-a", ledger.Units(4), ledger.AtMost(ledger.Units(2))},
			}, "Reclaimed",
			"Evicted so that pod ns/p of queue <team-b> starts: of <nvidia-h100>, queue <team-b> holds <1> and deserves <2>, and queue <team-a> holds <4> and deserves <2>",
		},
		{
			Reclaimed{
				Pod: "ns/p", Queue: "team-b", VictimQueue: "team-a", Dimension: memory,
				Gains: QueueShare{"org-b", gib(16), ledger.AtMost(gib(64))}, Loses: QueueShare{"org-a", gib(32), ledger.Limit{}},
			}, "Reclaimed",
			"Evicted so that pod ns/p of queue <team-b> starts: of <memory>, queue <org-b> holds <16GiB> and deserves <64GiB>, and queue <org-a> holds <32GiB> and deserves nothing",
		},
		{
			Preempted{Pod: "ns/x-0", Queue: "team", Job: "ns/x", VictimJob: "ns/y", Priority: 100, VictimPriority: 1}, "Preempted",
			"Evicted so that pod ns/x-0 of the same queue <team> starts: its job ns/x has priority <100>, and job ns/y of the evicted pod has <1>",
		},
	} {
		if got := c.eviction.Message(); got != c.message {
			t.Errorf("%T says\n%s, want\n%s", c.eviction, got, c.message)
		}
		if got := c.eviction.Reason(); got != c.reason {
			t.Errorf("%T has the reason %q, want %q", c.eviction, got, c.reason)
		}
	}
}

func TestEvictionsAreToldAndCountedUntilAQueueIsGone(t *testing.T) {
	const metric = "volcano_queue_evictions_total"
	f := newFixture(t)
	for _, queue := range []string{"loses", "gains", "stays"} {
		f.queue(queue)
	}
	counter := demand.NewCounter(&card.Fleet{}, func(corev1.ResourceName) bool { return false })
	publish := func() { // the metrics of all queues come from one ledger
		specs := []ledger.QueueSpec{{Name: "loses"}, {Name: "gains"}, {Name: "stays"}}
		books, _ := ledger.New(counter.Dimensions, nil, specs)
		f.Metrics(&Accounts{Ledger: books, Held: books, Dimensions: counter.Dimensions, Resources: counter.Resources, Queues: f.queues})
	}
	publish()
	_, victim := f.job("victim")
	for range 2 {
		f.Evicted(victim.Pod, Reclaimed{Pod: "ns/p", Queue: "gains", VictimQueue: "loses", Dimension: h100, Gains: QueueShare{Queue: "gains"}, Loses: QueueShare{Queue: "loses"}})
	}
	f.Evicted(victim.Pod, Reclaimed{Queue: "stays", VictimQueue: "gains"})
	f.Evicted(victim.Pod, Preempted{Pod: "ns/x-0", Queue: "stays", Job: "ns/x", VictimJob: "ns/y"})
	const reclaimed = "Normal Reclaimed Evicted so that pod ns/p of queue <gains> starts: of <nvidia-h100>, queue <gains> holds <0> and deserves nothing, and queue <loses> holds <0> and deserves nothing" + podEvent
	for _, want := range []string{reclaimed, reclaimed} {
		if got := <-f.events.Events; got != want {
			t.Errorf("the event is\n%s, want\n%s", got, want)
		}
	}
	expectSeries(t, "evicted", metric, "action=reclaim for_queue=gains queue=loses", 2)
	expectSeries(t, "evicted", metric, "action=reclaim for_queue=stays queue=gains", 1)
	expectSeries(t, "evicted", metric, "action=preempt for_queue=stays queue=stays", 1)
	delete(f.queues, "gains")
	publish()
	if got := series(t, metric); len(got) != 1 || got["action=preempt for_queue=stays queue=stays"] != 1 {
		t.Errorf("a queue is gone, the series are %v", got)
	}
}

func TestHowLongPodsWaitForTheirVictims(t *testing.T) {
	f, start := newFixture(t), time.Unix(1000, 0)
	f.Clock = clocktesting.NewFakePassiveClock(start.Add(40 * time.Second))
	podsBefore, secondsBefore := waited(t, "preempt")
	f.Started(Preempt, start)
	f.Started(Preempt, start.Add(30*time.Second))
	pods, seconds := waited(t, "preempt")
	if pods-podsBefore != 2 || seconds-secondsBefore != 50 {
		t.Errorf("%d pods have waited %g s, want 2 and 50 s", pods-podsBefore, seconds-secondsBefore)
	}
}

// waited returns how many pods have waited for victims of an action, and for how many seconds in total.
func waited(t *testing.T, action string) (pods uint64, seconds float64) {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "volcano_eviction_promise_duration_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			if metric.GetLabel()[0].GetValue() == action {
				return metric.GetHistogram().GetSampleCount(), metric.GetHistogram().GetSampleSum()
			}
		}
	}
	return 0, 0
}
