// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
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
		expectWords(t, c.eviction, c.reason, c.message)
	}
}

func TestEvictionsAreToldAndCountedUntilAQueueIsGone(t *testing.T) {
	const metric = "volcano_queue_evictions_total"
	f := newFixture(t)
	for _, queue := range []string{"loses", "gains", "stays"} {
		f.queue(queue)
	}
	publish := func() { // the metrics of all queues come from one ledger
		specs := []ledger.QueueSpec{{Name: "loses"}, {Name: "gains"}, {Name: "stays"}}
		books, _ := ledger.New(f.counter.Dimensions, nil, specs)
		f.Metrics(&Accounts{Ledger: books, Held: books, Dimensions: f.counter.Dimensions, Resources: f.counter.Resources, Queues: f.queues})
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
	must(t, err)
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

func TestWhyReclaimersWait(t *testing.T) {
	const held = "Queue <q> deserves <4> of <nvidia-h100>, holds <1>, and asks for <2> more, but cannot take it back: "
	short := CannotReclaim{Queue: "q", Dimension: h100, Deserved: ledger.Units(4), Held: ledger.Units(1), Asked: ledger.Units(2)}
	because := func(o ReclaimObstacle) CannotReclaim {
		c := short
		c.Obstacle = o
		return c
	}
	protected := because(Protected)
	protected.Gangs, protected.Budgets = 3, 1
	inBytes := CannotReclaim{Queue: "q", Dimension: memory, Deserved: gib(64), Held: gib(1), Asked: gib(32)}
	for _, c := range []struct {
		refusal         Refusal
		reason, message string
	}{
		{WaitsForVictims{"n1", []string{"ns/a"}}, "", "Waits on node <n1> for 1 pod to leave: ns/a"},
		{WaitsForVictims{"n1", []string{"ns/b", "ns/a"}}, "", "Waits on node <n1> for 2 pods to leave: ns/a, ns/b"},
		{WaitsForVictims{"n1", []string{"a", "b", "c", "d", "e", "f", "g"}}, "", "Waits on node <n1> for 7 pods to leave: a, b, c, d, e, and 2 more"},
		{because(NobodyHoldsMore), "CannotReclaim", held + "no other queue holds more than it deserves: lower what queues deserve, or add nodes"},
		{
			because(NotReclaimable), "CannotReclaim",
			held + "nothing may be taken from those who hold more than they deserve: see spec.reclaimable of their queues, and the annotation volcano.sh/preemptable of their pods",
		},
		{because(NoNodeWithVictims), "CannotReclaim", held + "no node has what the pods ask for, even without the pods that may be evicted"},
		{because(NoHyperNodeWithVictims), "CannotReclaim", held + "no HyperNode that the job may use has what all its pods ask for, even without the pods that may be evicted"},
		{
			protected, "CannotReclaim",
			held + "the pods of those who hold more than they deserve are protected: <3> by the minimum of their jobs, <1> by PodDisruptionBudgets",
		},
		{
			inBytes, "CannotReclaim",
			"Queue <q> deserves <64GiB> of <memory>, holds <1GiB>, and asks for <32GiB> more, but cannot take it back: no other queue holds more than it deserves: lower what queues deserve, or add nodes",
		},
	} {
		expectWords(t, c.refusal, c.reason, c.message)
	}
}

func TestOnlyTheFirstDimensionThatCannotBeReclaimedIsReported(t *testing.T) {
	found := problems.Problems{}
	tell := func(c CannotReclaim) { found.CannotReclaim(c.Queue, c.Message()) }
	first := CannotReclaim{Queue: "q", Dimension: h100, Deserved: ledger.Units(4)}
	tell(first)
	tell(CannotReclaim{Queue: "q", Dimension: memory, Deserved: gib(4)})
	tell(CannotReclaim{Queue: "other", Dimension: memory, Deserved: gib(4)})
	if got := found[problems.Problem{Queue: "q", Reason: problems.CannotReclaimReason}]; got != first.Message() || len(found) != 2 {
		t.Errorf("%d problems, that of q is %q", len(found), got)
	}
}
