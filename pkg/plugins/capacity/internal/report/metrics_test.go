// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
)

// series returns the series of a metric with their values, by their labels.
func series(t *testing.T, name string) map[string]float64 {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	must(t, err)
	all := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			all[strings.Join(labels, " ")] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return all
}

func expectSeries(t *testing.T, when, name, labels string, want float64) {
	t.Helper()
	if got, found := series(t, name)[labels]; got != want || !found {
		t.Errorf("%s: %s{%s} is %g, there: %t, want %g", when, name, labels, got, found, want)
	}
}

// ofQueue lists a queue's series of all device and card metrics.
func ofQueue(t *testing.T, queue string) string {
	t.Helper()
	var all []string
	for _, prefix := range []string{"card_", "device_class_", "device_capacity_"} {
		for _, name := range []string{"capability", "deserved", "guarantee", "allocated", "inqueue", "request", "capacity"} {
			for labels, value := range series(t, "volcano_queue_"+prefix+name) {
				if slices.Contains(strings.Fields(labels), "queue="+queue) {
					rest := strings.NewReplacer(" queue="+queue, "", " capacity=", " ", " device_class=", " ", " card=", " ").Replace(" " + labels)
					all = append(all, fmt.Sprintf("%s%s %g", prefix+name, rest, value))
				}
			}
		}
	}
	return strings.Join(all, "\n")
}

// accounts makes a ledger with one queue that has device and card limits, and charges it.
func (f *fixture) accounts(queue string, limits, charged ledger.Amounts) *Accounts {
	total := ledger.Amounts{{Dimension: f.counter.Resources.CPU, Amount: ledger.Units(16)}}
	books, _ := ledger.New(f.counter.Dimensions, total, []ledger.QueueSpec{{Name: queue, Capability: limits}})
	must(f, books.Charge(0, "p", ledger.Demand{ledger.NewPart(charged)}))
	return &Accounts{Ledger: books, Held: books, Total: total, Dimensions: f.counter.Dimensions, Resources: f.counter.Resources, Queues: f.queues}
}

func TestSeriesAppearChangeAndGoWithTheirQueue(t *testing.T) {
	f := newFixture(t)
	f.queue("metered")
	count, memory, h100 := f.ordinal(ledger.DeviceCount, "gpu", ""), f.ordinal(ledger.DeviceCapacity, "gpu", "memory"), f.ordinal(ledger.Card, "H100", "")
	f.ordinal(ledger.DeviceCount, "other", "")
	units := func(o ledger.Ordinal, n int64) ledger.Entry {
		return ledger.Entry{Dimension: o, Amount: ledger.Units(n)}
	}
	for _, session := range []struct {
		name            string
		limits, charged ledger.Amounts
		want            string
	}{
		{name: "nothing is limited or used"},
		{
			name: "limits", limits: ledger.Amounts{units(count, 8), units(memory, 100), units(h100, 4)},
			want: `card_capability H100 4
card_deserved H100 4
card_allocated H100 0
card_request H100 0
card_capacity H100 4
device_class_capability gpu 8
device_class_capacity gpu 8
device_capacity_capability memory gpu 100
device_class_allocated gpu 0
device_capacity_allocated memory gpu 0
device_class_inqueue gpu 0
device_capacity_inqueue memory gpu 0
device_class_request gpu 0
device_capacity_request memory gpu 0`,
		},
		{
			name: "use, and limits that are gone", limits: ledger.Amounts{units(count, 9)}, charged: ledger.Amounts{units(count, 2), units(h100, 1), units(memory, 5)},
			want: `card_allocated H100 1
device_class_capability gpu 9
device_class_capacity gpu 9
device_class_allocated gpu 2
device_class_inqueue gpu 0
device_class_request gpu 0`,
		},
	} {
		f.Metrics(f.accounts("metered", session.limits, session.charged))
		if got := sorted(ofQueue(t, "metered")); got != sorted(session.want) {
			t.Errorf("%s: the series are\n%s\nwant\n%s", session.name, got, sorted(session.want))
		}
	}
	delete(f.queues, "metered")
	f.Metrics(f.accounts("metered", nil, nil))
	if got := ofQueue(t, "metered"); got != "" {
		t.Errorf("the queue is gone, but there is\n%s", got)
	}
}

func sorted(lines string) string {
	all := strings.Split(lines, "\n")
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// TestSeriesAreRightInOtherDimensions: a scheduler begins with new dimensions when most of the old ones are obsolete.
func TestSeriesAreRightInOtherDimensions(t *testing.T) {
	f := newFixture(t)
	f.queue("renewed")
	for _, names := range [][]string{{"gone", "a", "b"}, {"b", "a"}} {
		f.counter = newCounter()
		var charged ledger.Amounts
		for i, name := range names {
			charged = append(charged, ledger.Entry{Dimension: f.ordinal(ledger.Card, name, ""), Amount: ledger.Units(int64(i + 1))})
		}
		f.Metrics(f.accounts("renewed", nil, charged))
	}
	if got, want := sorted(ofQueue(t, "renewed")), "card_allocated a 2\ncard_allocated b 1"; got != want {
		t.Errorf("the series are\n%s, want\n%s", got, want)
	}
}

func TestResourcesOfQueues(t *testing.T) {
	f := newFixture(t)
	f.queue("resources")
	gpu := f.counter.Resources.Ordinal("nvidia.com/gpu")
	for _, cores := range []int64{4, 2, 0} {
		f.Metrics(f.accounts("resources", ledger.Amounts{{Dimension: gpu, Amount: ledger.Units(8)}},
			ledger.Amounts{{Dimension: f.counter.Resources.CPU, Amount: ledger.Units(cores)}, {Dimension: gpu, Amount: ledger.Units(cores)}}))
		when := fmt.Sprintf("with %d cores", cores)
		expectSeries(t, when, "volcano_queue_allocated_milli_cpu", "queue_name=resources", float64(1000*cores))
		expectSeries(t, when, "volcano_queue_allocated_scalar_resources", "queue_name=resources resource=nvidia.com/gpu", float64(1000*cores))
		expectSeries(t, when, "volcano_queue_capacity_milli_cpu", "queue_name=resources", 16000)
		expectSeries(t, when, "volcano_queue_capacity_scalar_resources", "queue_name=resources resource=nvidia.com/gpu", 8000)
	}
}

func TestWhatPodsArePromisedIsNotAllocated(t *testing.T) {
	f := newFixture(t)
	f.queue("promising")
	count, h100 := f.ordinal(ledger.DeviceCount, "gpu", ""), f.ordinal(ledger.Card, "H100", "")
	two := ledger.Amounts{{Dimension: f.counter.Resources.CPU, Amount: ledger.Units(2)}, {Dimension: count, Amount: ledger.Units(2)}, {Dimension: h100, Amount: ledger.Units(2)}}
	accounts := f.accounts("promising", ledger.Amounts{{Dimension: h100, Amount: ledger.Units(8)}}, two)
	accounts.Held = accounts.Ledger.Held()
	must(t, accounts.Ledger.Pipeline(0, "waits", ledger.Demand{ledger.NewPart(two)}))
	must(t, accounts.Ledger.Retain(0, "goes", ledger.NewPart(two[1:])))
	f.Metrics(accounts)
	when := "a pod has 2 of each, a pod that goes has 2 as well, and a third one is promised 2"
	expectSeries(t, when, "volcano_queue_allocated_milli_cpu", "queue_name=promising", 2000)
	expectSeries(t, when, "volcano_queue_card_allocated", "card=H100 queue=promising", 4)
	expectSeries(t, when, "volcano_queue_device_class_allocated", "device_class=gpu queue=promising", 4)
}

func TestCardTotals(t *testing.T) {
	f, fleet := newFixture(t), &card.Fleet{}
	offers := func(name string, count int64) card.Node {
		return card.Node{Model: name, Offers: []card.Offer{{Resource: "nvidia.com/gpu", Card: name, Count: count}}}
	}
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"a card appears", func() { fleet.Set("n1", offers("totals-A", 8)) }, "card=totals-A 8"},
		{"more of it", func() { fleet.Set("n2", offers("totals-A", 4)) }, "card=totals-A 12"},
		{"another one takes its place", func() { fleet.Set("n1", offers("totals-B", 8)) }, "card=totals-A 4\ncard=totals-B 8"},
		{"the last node with it is gone", func() { fleet.Remove("n2") }, "card=totals-B 8"},
		{"no node is left", func() { fleet.Remove("n1") }, ""},
	} {
		step.do()
		f.CardTotals(fleet)
		var got []string
		for labels, value := range series(t, "volcano_cluster_cards") {
			got = append(got, fmt.Sprintf("%s %g", labels, value))
		}
		if sorted(strings.Join(got, "\n")) != step.want {
			t.Errorf("%s: the series are %q, want %q", step.name, got, step.want)
		}
	}
}

// TestMetricsFollowTheConventions lints the metrics of this project. Volcano's metrics have other names.
func TestMetricsFollowTheConventions(t *testing.T) {
	f := newFixture(t)
	f.queue("linted")
	var all ledger.Amounts
	for _, d := range []ledger.Dimension{{Kind: ledger.DeviceCount, Name: "gpu"}, {Kind: ledger.DeviceCapacity, Name: "gpu", Capacity: "memory"}, {Kind: ledger.Card, Name: "H100"}} {
		all = append(all, ledger.Entry{Dimension: f.counter.Dimensions.Ordinal(d), Amount: ledger.Units(8)})
	}
	accounts := f.accounts("linted", all, all)
	accounts.Ledger, _ = ledger.New(f.counter.Dimensions, nil, []ledger.QueueSpec{{Name: "linted", Capability: all, Deserved: all, Guarantee: all}})
	accounts.Held = accounts.Ledger
	f.Metrics(accounts)
	fleet := &card.Fleet{}
	fleet.Set("n1", card.Node{Model: "H100", Offers: []card.Offer{{Resource: "nvidia.com/gpu", Card: "H100", Count: 8}}})
	f.CardTotals(fleet)
	f.Problems(problems.Problems{}, f.queues)
	_, victim := f.job("linted")
	f.Evicted(victim.Pod, Preempted{Queue: "linted"})
	f.Started(Preempt, f.Clock.Now())

	families, err := prometheus.DefaultGatherer.Gather()
	must(t, err)
	ours := families[:0]
	for _, family := range families {
		if slices.ContainsFunc([]string{"queue_card_", "queue_device_", "queue_problems", "queue_evictions_", "eviction_", "cluster_", "unattributed_"}, func(prefix string) bool {
			return strings.HasPrefix(family.GetName(), "volcano_"+prefix)
		}) {
			ours = append(ours, family)
		}
	}
	if want := len(cardGauges) + len(deviceGauges) + len(deviceCapacityGauges) + 6; len(ours) != want {
		t.Errorf("%d metrics are linted, want %d", len(ours), want)
	}
	problems, err := promlint.NewWithMetricFamilies(ours).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
}
