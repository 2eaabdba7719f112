// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// arrivals notes when pods are created and when they get a node, as the API server tells it.
type arrivals struct {
	mu      sync.Mutex
	created map[types.UID]time.Time
	bound   map[types.UID]placed
	changed chan struct{}
}

// placed says when a pod was created and when it got its node.
type placed struct{ created, bound time.Time }

func follow(ctx context.Context, client kubernetes.Interface) *arrivals {
	a := &arrivals{created: map[types.UID]time.Time{}, bound: map[types.UID]placed{}, changed: make(chan struct{}, 1)}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { a.note(object.(*corev1.Pod)) }, UpdateFunc: func(_, object any) { a.note(object.(*corev1.Pod)) },
	})
	if err != nil {
		panic(err) // only of an informer that has stopped
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return a
}

func (a *arrivals) note(pod *corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.created[pod.UID]; !known {
		a.created[pod.UID] = time.Now()
	}
	if _, known := a.bound[pod.UID]; known || pod.Spec.NodeName == "" {
		return
	}
	a.bound[pod.UID] = placed{a.created[pod.UID], time.Now()}
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// await waits until there are enough pods with a node, or until the context ends. It returns them in the order in which they got it.
func (a *arrivals) await(ctx context.Context, want int) []placed {
	for ctx.Err() == nil {
		a.mu.Lock()
		enough := len(a.bound) >= want
		a.mu.Unlock()
		if enough {
			break
		}
		select {
		case <-ctx.Done():
		case <-a.changed:
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.SortedFunc(maps.Values(a.bound), func(a, b placed) int { return a.bound.Compare(b.bound) })
}

// usage is what a scheduler has used since it started, as its metrics say.
type usage struct {
	cpu, memory, requests float64
	// sessions counts sessions. phases has their time, and that of what plugins do at their begin, of actions, and of what plugins do at their end. The rest
	// is for copies, and for what is written to the API server. A scheduler that works pod by pod has no sessions.
	sessions float64
	phases   map[string]float64
}

func (at *site) usage() *usage {
	text, err := at.SchedulerMetrics(at.Context())
	if err != nil {
		at.Fatal(err)
	}
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		at.Fatal(err)
	}
	session, sessions := observed(families, "volcano_e2e_scheduling_latency_milliseconds", "")
	open, _ := observed(families, "volcano_plugin_scheduling_latency_milliseconds", "OnSessionOpen")
	actions, _ := observed(families, "volcano_action_scheduling_latency_milliseconds", "")
	end, _ := observed(families, "volcano_plugin_scheduling_latency_milliseconds", "OnSessionClose")
	return &usage{
		cpu: sum(families, "process_cpu_seconds_total"), memory: sum(families, "process_resident_memory_bytes"), requests: sum(families, "rest_client_requests_total"),
		sessions: sessions, phases: map[string]float64{"ms/session": session, "open-ms/session": open, "actions-ms/session": actions, "close-ms/session": end},
	}
}

// observed returns the sum and the number of the observations of a histogram, of all labels or of those with a certain value.
func observed(families map[string]*dto.MetricFamily, name, value string) (sum, count float64) {
	for _, metric := range families[name].GetMetric() {
		if value == "" || slices.ContainsFunc(metric.GetLabel(), func(label *dto.LabelPair) bool { return label.GetValue() == value }) {
			sum, count = sum+metric.GetHistogram().GetSampleSum(), count+float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return sum, count
}

// sum returns the sum of the values of a metric.
func sum(families map[string]*dto.MetricFamily, name string) float64 {
	total := 0.0
	for _, metric := range families[name].GetMetric() {
		total += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
	}
	return total
}

// report reports the measures of the pods that have a node. Latencies are from the creation of a pod, or from the start of the scheduler if that came later.
func (at *site) report(began time.Time, pods []placed, before *usage) {
	after := at.usage()
	at.ReportMetric(float64(at.shape.bound()-len(pods)), "waiting")
	if len(pods) == 0 {
		return
	}
	count := float64(len(pods))
	latencies := make([]time.Duration, len(pods))
	for i, pod := range pods {
		since := pod.created
		if since.Before(began) {
			since = began
		}
		latencies[i] = pod.bound.Sub(since)
	}
	slices.Sort(latencies)
	at.ReportMetric(count/pods[len(pods)-1].bound.Sub(began).Seconds(), "pods/s")
	for name, share := range map[string]float64{"p50-ms": 0.5, "p95-ms": 0.95, "p99-ms": 0.99} {
		at.ReportMetric(float64(latencies[int(share*(count-1))].Milliseconds()), name)
	}
	at.ReportMetric(1000*(after.cpu-before.cpu)/count, "cpu-ms/pod")
	at.ReportMetric(after.memory/1e6, "megabytes")
	at.ReportMetric((after.requests-before.requests)/count, "requests/pod")
	if sessions := after.sessions - before.sessions; sessions > 0 {
		for phase, took := range after.phases {
			at.ReportMetric((took-before.phases[phase])/sessions, phase)
		}
	}
}
