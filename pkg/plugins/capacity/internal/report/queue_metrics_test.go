// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/ledger/kindtest"
	"github.com/devicequota/devicequota/pkg/metric"
	"github.com/devicequota/devicequota/pkg/queueusage"
)

func TestUsage(t *testing.T) {
	f := newFixture(t)
	h100, a100 := f.ordinal(ledger.DeviceCount, "h100", ""), f.ordinal(ledger.DeviceCount, "a100", "")
	memory, card := f.ordinal(ledger.DeviceCapacity, "h100", "memory"), f.ordinal(ledger.Card, "H100", "")
	var many []ledger.Ordinal
	for i := range 7 {
		many = append(many, f.ordinal(ledger.DeviceCount, fmt.Sprint("c", i), ""))
	}
	units := func(n int64, os ...ledger.Ordinal) ledger.Amounts {
		var all ledger.Amounts
		for _, o := range os {
			all = append(all, ledger.Entry{Dimension: o, Amount: ledger.Units(n)})
		}
		return all
	}
	for _, c := range []struct {
		name                    string
		limits, held, requested ledger.Amounts
		devices, cards          string
	}{
		{name: "nothing is limited or used"},
		{name: "a limit", limits: units(8, h100), devices: "h100 0/8"},
		{name: "a limit of zero", limits: units(0, h100), devices: "h100 0/0"},
		{name: "use without a limit", held: units(2, h100), requested: units(2, h100), devices: "h100 2"},
		{name: "use and demand", limits: units(8, h100, card), held: units(6, h100, card), requested: units(8, h100, card), devices: "h100 6/8 (2 waiting)", cards: "H100 6/8 (2 waiting)"},
		{name: "demand for what must not be used", limits: units(0, h100), requested: units(1, h100), devices: "h100 0/0 (1 waiting)"},
		{name: "what is held by nobody's request", held: units(1, h100), devices: "h100 1"},
		{name: "several classes, by name", limits: units(8, h100, a100, memory), devices: "a100 0/8, h100 0/8"},
		{name: "many classes", limits: units(1, many...), devices: "c0 0/1, c1 0/1, c2 0/1, c3 0/1, c4 0/1, and 2 more"},
	} {
		accounts := f.accounts("q", c.limits, c.held)
		must(t, accounts.Ledger.Add(0, ledger.Request, c.requested))
		if got, want := usageOf(accounts, 0), (queueusage.Usage{Devices: c.devices, Cards: c.cards}); got != want {
			t.Errorf("%s: usage is %q, want %q", c.name, got, want)
		}
	}
}

func TestUsageIsHandedOverWhenItIsCompleteAndNew(t *testing.T) {
	f := newFixture(t)
	f.queue("handed")
	h100 := f.ordinal(ledger.DeviceCount, "h100", "")
	for _, session := range []struct {
		name     string
		devices  int64
		complete bool
		want     string
	}{
		{"claims are still being read", 1, false, ""},
		{"everything has been read", 1, true, `handed {"metadata":{"annotations":{"volcano.sh/device.usage":"h100 1"}}}`},
		{"nothing has changed", 1, true, ""},
		{"a pod comes", 2, true, `handed {"metadata":{"annotations":{"volcano.sh/device.usage":"h100 2"}}}`},
	} {
		accounts := f.accounts("handed", nil, ledger.Amounts{{Dimension: h100, Amount: ledger.Units(session.devices)}})
		accounts.Complete = session.complete
		if got := f.handedOver(accounts); got != session.want {
			t.Errorf("%s: handed over is %q, want %q", session.name, got, session.want)
		}
	}
	delete(f.queues, "handed")
	if got := f.handedOver(f.accounts("handed", nil, nil)); got != "" {
		t.Errorf("the queue is gone, but %q is handed over", got)
	}
}

// handedOver returns what a session passes to an empty writer.
func (f *fixture) handedOver(accounts *Accounts) string {
	f.Helper()
	var patched []string
	f.Usage = &queueusage.Writer{
		Annotations: func(string) (map[string]string, bool) { return nil, true },
		Patch: func(_ context.Context, queue string, patch []byte) error {
			patched = append(patched, queue+" "+string(patch))
			return nil
		},
	}
	f.Metrics(accounts)
	must(f, f.Usage.Write(f.Context()))
	return strings.Join(patched, "; ")
}

func TestSeriesOfCardsThatAQueueIsOwed(t *testing.T) {
	f := newFixture(t)
	f.queue("elastic")
	a, b := f.ordinal(ledger.Card, "A", ""), f.ordinal(ledger.Card, "B", "")
	of := func(o ledger.Ordinal, n int64) ledger.Amounts {
		return ledger.Amounts{{Dimension: o, Amount: ledger.Units(n)}}
	}
	both := ledger.Amounts{{Dimension: a, Amount: ledger.Units(8)}, {Dimension: b, Amount: ledger.Units(4)}}
	for _, session := range []struct {
		name string
		spec ledger.QueueSpec
		want string
	}{
		{
			"a limit only", ledger.QueueSpec{Capability: both},
			"card_allocated A 0\ncard_allocated B 0\ncard_capability A 8\ncard_capability B 4\ncard_capacity A 8\ncard_capacity B 4\ncard_deserved A 8\ncard_deserved B 4\ncard_request A 0\ncard_request B 0",
		},
		{
			"one card is deserved, the other is not", ledger.QueueSpec{Capability: both, Deserved: of(a, 6), Guarantee: of(a, 2)},
			"card_allocated A 0\ncard_allocated B 0\ncard_capability A 8\ncard_capability B 4\ncard_capacity A 8\ncard_capacity B 4\ncard_deserved A 6\ncard_guarantee A 2\ncard_request A 0\ncard_request B 0",
		},
		{
			"none is deserved", ledger.QueueSpec{Capability: of(a, 8), Deserved: of(a, 0)},
			"card_allocated A 0\ncard_capability A 8\ncard_capacity A 8\ncard_deserved A 0\ncard_request A 0",
		},
		{"no limit", ledger.QueueSpec{Guarantee: of(a, 2)}, "card_allocated A 0\ncard_deserved A 2\ncard_guarantee A 2\ncard_request A 0"},
	} {
		session.spec.Name = "elastic"
		accounts := f.accounts("elastic", nil, nil)
		accounts.Ledger, _ = ledger.New(f.counter.Dimensions, nil, []ledger.QueueSpec{session.spec})
		accounts.Held = accounts.Ledger
		f.Metrics(accounts)
		if got := sorted(ofQueue(t, "elastic")); got != session.want {
			t.Errorf("%s: the series are\n%s\nwant\n%s", session.name, got, session.want)
		}
	}
}

func TestGaugesHaveAllKinds(t *testing.T) {
	kindtest.Run(t, kindtest.Form[string]{Lists: true, Write: func(d ledger.Dimension) (string, error) {
		gauges, known := gaugesOf[d.Kind]
		if !known {
			return "", fmt.Errorf("no gauge has the kind %s", d.Kind)
		}
		if gauges == nil {
			return "", nil
		}
		labels := append([]string{"kinds"}, d.LabelValues()...)
		for i := range gauges {
			made, err := gauges[i].vector.GetMetricWithLabelValues(labels...)
			if err != nil {
				return "", fmt.Errorf("%s: %w", made.Desc(), err)
			}
			gauges[i].vector.DeleteLabelValues(labels...)
		}
		return fmt.Sprint(d.Kind, labels), nil
	}})
}

// waitingSeries lists the series of a queue.
func waitingSeries(t *testing.T, queue string) string {
	t.Helper()
	var all []string
	for labels, value := range series(t, metric.QueueWaitingPods.Name) {
		if reason, found := strings.CutPrefix(labels, "queue="+queue+" reason="); found {
			all = append(all, fmt.Sprintf("%s %g", reason, value))
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
			must(t, jobs["a"].UpdateTaskStatus(tasks["a"], api.Allocated))
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
