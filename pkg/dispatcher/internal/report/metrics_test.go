// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// prefix is the prefix of all metrics of the dispatcher.
const prefix = "volcano_dispatcher_"

// series lists the series whose name begins with a prefix, with their values.
func series(t *testing.T, from prometheus.Gatherer, prefix string) string {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, family := range families {
		name, found := strings.CutPrefix(family.GetName(), prefix)
		if !found {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			value := metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
			if metric.GetHistogram() != nil {
				value = float64(metric.GetHistogram().GetSampleCount())
			}
			all = append(all, fmt.Sprintf("%s{%s} %g", name, strings.Join(labels, ","), value))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func newMetrics(t *testing.T) (*Metrics, *prometheus.Registry) {
	registry := prometheus.NewRegistry()
	metrics, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	return metrics, registry
}

// books returns the ledger of a snapshot with the queue team below root, and the snapshot.
func books(t *testing.T) (*ledger.Ledger, *framework.Snapshot) {
	dimensions := &ledger.Dimensions{}
	of := func(n int64, ds ...ledger.Dimension) ledger.Amounts {
		var all ledger.Amounts
		for _, d := range ds {
			all = append(all, ledger.Entry{Dimension: dimensions.Ordinal(d), Amount: ledger.Units(n)})
		}
		return all
	}
	of(0, cpu, memory, gpu)
	limited := []ledger.Dimension{cpu, h100, h200, bytes}
	l, aside := ledger.New(dimensions, nil, []ledger.QueueSpec{
		{Name: "root", Capability: of(10, cpu)},
		{Name: "team", Parent: "root", Capability: of(20, limited...), Deserved: of(4, limited...), Guarantee: of(2, limited...), ListsCards: true},
	})
	if len(aside) > 0 {
		t.Fatal(aside)
	}
	team, _ := l.Queue("team")
	if err := l.Charge(team, "w", ledger.Demand{ledger.NewPart(of(3, cpu, gpu, h100, h200, bytes))}); err != nil {
		t.Fatal(err)
	}
	return l, &framework.Snapshot{Now: noon, Dimensions: dimensions, Queues: map[string]*schedulingv1beta1.Queue{"root": {}, "team": {}, "misplaced": {}}}
}

// amountsOf returns n of each dimension.
func amountsOf(snapshot *framework.Snapshot, n int64, dimensions ...ledger.Dimension) ledger.Amounts {
	var all ledger.Amounts
	for _, d := range dimensions {
		all = append(all, ledger.Entry{Dimension: snapshot.Dimensions.Ordinal(d), Amount: ledger.Units(n)})
	}
	return all
}

const usageOfTeam = `queue_allocated_memory_bytes{queue_name=team} 0
queue_allocated_milli_cpu{queue_name=team} 3000
queue_allocated_scalar_resources{queue_name=team,resource=nvidia.com/gpu} 3000
queue_capacity_milli_cpu{queue_name=team} 20000
queue_card_allocated{card=NVIDIA-H200,queue=team} 3
queue_card_capability{card=NVIDIA-H200,queue=team} 20
queue_card_capacity{card=NVIDIA-H200,queue=team} 20
queue_card_deserved{card=NVIDIA-H200,queue=team} 4
queue_card_guarantee{card=NVIDIA-H200,queue=team} 2
queue_card_request{card=NVIDIA-H200,queue=team} 5
queue_deserved_milli_cpu{queue_name=team} 4000
queue_device_capacity_allocated{capacity=memory,device_class=h100,queue=team} 3
queue_device_capacity_capability{capacity=memory,device_class=h100,queue=team} 20
queue_device_capacity_capacity{capacity=memory,device_class=h100,queue=team} 20
queue_device_capacity_deserved{capacity=memory,device_class=h100,queue=team} 4
queue_device_capacity_guarantee{capacity=memory,device_class=h100,queue=team} 2
queue_device_capacity_request{capacity=memory,device_class=h100,queue=team} 5
queue_device_class_allocated{device_class=h100,queue=team} 3
queue_device_class_capability{device_class=h100,queue=team} 20
queue_device_class_capacity{device_class=h100,queue=team} 20
queue_device_class_deserved{device_class=h100,queue=team} 4
queue_device_class_guarantee{device_class=h100,queue=team} 2
queue_device_class_request{device_class=h100,queue=team} 5
queue_real_capacity_milli_cpu{queue_name=team} 10000
queue_request_memory_bytes{queue_name=team} 0
queue_request_milli_cpu{queue_name=team} 5000
queue_request_scalar_resources{queue_name=team,resource=nvidia.com/gpu} 5000
queue_share{queue_name=team} 0.75`

func TestMetricsOfAQueueGoWithIt(t *testing.T) {
	metrics, registry := newMetrics(t)
	l, snapshot := books(t)
	waits := job("train", "team")
	waits.Needs.All = amountsOf(snapshot, 2, cpu, gpu, h100, h200, bytes)
	snapshot.Workloads = append(snapshot.Workloads, waits)
	ofTeam := func() string {
		var all []string
		for line := range strings.Lines(series(t, registry, prefix)) {
			if strings.Contains(line, "=team") && !strings.HasPrefix(line, "workloads") {
				all = append(all, strings.TrimSpace(line))
			}
		}
		return strings.Join(all, "\n")
	}
	metrics.cycle(snapshot, countWorkloads(snapshot), nil, UsageOf(l, snapshot, nil), time.Second)
	if got := ofTeam(); got != usageOfTeam {
		t.Errorf("the series are\n%s, want\n%s", got, usageOfTeam)
	}
	metrics.decided(KindGranted, "team")
	metrics.decided(KindGranted, "root")
	delete(snapshot.Queues, "team")
	snapshot.Workloads = nil
	metrics.cycle(snapshot, countWorkloads(snapshot), nil, UsageOf(l, snapshot, nil), time.Second)
	if got := series(t, registry, prefix); strings.Contains(got, "team") || !strings.Contains(got, "decisions_total{decision=granted,queue=root} 1") {
		t.Errorf("the queue is gone, but the series are\n%s", got)
	}
}

func TestWorkloadsByState(t *testing.T) {
	metrics, registry := newMetrics(t)
	_, snapshot := books(t)
	add := func(n int, w func() *framework.Workload, change func(*framework.Workload)) {
		for range n {
			one := w()
			change(one)
			snapshot.Workloads = append(snapshot.Workloads, one)
		}
	}
	has := func() *framework.Workload { return granted("train", "team", units(cpu, 2)) }
	waits := func() *framework.Workload { return job("train", "team") }
	runs := func(*framework.Workload) {}
	hold := func(reason binding.Reason) func(*framework.Workload) {
		return func(w *framework.Workload) { w.State.Hold = &binding.Hold{Reason: reason} }
	}
	add(1, waits, func(*framework.Workload) {})
	add(1, waits, func(w *framework.Workload) { w.State.Hold, w.State.SuspendedByOthers = nil, true })
	add(3, has, func(w *framework.Workload) { w.State.NotPlaced = true })
	add(4, has, runs)
	add(5, has, hold(binding.Growing))
	add(6, has, hold(binding.Returning))
	add(7, has, func(w *framework.Workload) { w.State.Finished = true })
	add(8, has, func(w *framework.Workload) { w.State.Finished, w.State.Deleting = true, true })
	for i := range 9 {
		add(1, waits, func(w *framework.Workload) { w.Queue = fmt.Sprint("no-such-queue-", i) })
	}
	metrics.cycle(snapshot, countWorkloads(snapshot), nil, nil, time.Second)
	var got []string
	for line := range strings.Lines(series(t, registry, prefix+"workloads")) {
		if !strings.HasSuffix(strings.TrimSpace(line), " 0") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	const want = `{queue=,state=pending} 9
{queue=team,state=completed} 7
{queue=team,state=deleting} 8
{queue=team,state=growing} 5
{queue=team,state=inqueue} 3
{queue=team,state=pending} 2
{queue=team,state=returning} 6
{queue=team,state=running} 4`
	if strings.Join(got, "\n") != want {
		t.Errorf("the series are\n%s, want\n%s", strings.Join(got, "\n"), want)
	}
}

func TestRequestsAreCountedByResult(t *testing.T) {
	metrics, registry := newMetrics(t)
	grants, silent := Granted(job("train", "team"), &binding.Grant{Queue: "team"}), Decision{Workload: job("train", "team")}
	metrics.Patched(grants.Patch(), nil)
	metrics.Patched(grants.Patch(), nil)
	metrics.Patched(silent.Patch(), nil)
	metrics.Patched(grants.Patch(), apierrors.NewConflict(schedulingv1beta1.Resource("queues"), "q", errors.New("changed")))
	metrics.Patched(grants.Patch(), errors.New("no route"))
	const want = `{patch=bookkeeping,result=success} 1
{patch=granted,result=conflict} 1
{patch=granted,result=failure} 1
{patch=granted,result=success} 2`
	if got := series(t, registry, prefix+"api_patches_total"); got != want {
		t.Errorf("the series are\n%s, want\n%s", got, want)
	}
}

func TestALabelThatIsNoTextSpoilsNothing(t *testing.T) {
	metrics, registry := newMetrics(t)
	_, snapshot := books(t)
	usage := Usage{"team": {Dimensions: []DimensionUsage{
		{Dimension: ledger.Dimension{Kind: ledger.Card, Name: "\xff"}, Allocated: ledger.Units(1)}, {Dimension: h200, Allocated: ledger.Units(2)},
	}}}
	metrics.cycle(snapshot, nil, nil, usage, time.Second)
	if got, want := series(t, registry, prefix+"queue_card"), "_allocated{card=NVIDIA-H200,queue=team} 2"; got != want {
		t.Errorf("the series are\n%s, want\n%s", got, want)
	}
}
