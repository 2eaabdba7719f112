// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/backfill"
	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/framework"
	upstreamcapacity "volcano.sh/volcano/pkg/scheduler/plugins/capacity"
	upstreamgang "volcano.sh/volcano/pkg/scheduler/plugins/gang"
	upstreamnodeorder "volcano.sh/volcano/pkg/scheduler/plugins/nodeorder"
	upstreampredicates "volcano.sh/volcano/pkg/scheduler/plugins/predicates"

	"github.com/devicequota/devicequota/config"
	"github.com/devicequota/devicequota/pkg/clusterstate"
	"github.com/devicequota/devicequota/pkg/simulation/internal/apiserver"
)

// sample is the configuration of the scheduler that we recommend.
func sample() string {
	text, err := config.FS.ReadFile("scheduler/volcano-scheduler.conf")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// contestants are the schedulers that are compared.
var contestants = []struct {
	name          string
	configuration func() string
	register      func()
}{
	{"ours", sample, func() {}},
	{"volcano", func() string { return strings.Replace(sample(), "deviceAccounting: matching", "incremental: false", 1) }, registerUpstream},
}

// registerUpstream registers Volcano's own plugins and actions in place of ours.
func registerUpstream() {
	framework.RegisterPluginBuilder("capacity", upstreamcapacity.New)
	framework.RegisterPluginBuilder("gang", upstreamgang.New)
	framework.RegisterPluginBuilder("predicates", upstreampredicates.New)
	framework.RegisterPluginBuilder("nodeorder", upstreamnodeorder.New)
	for _, action := range []framework.Action{allocate.New(), backfill.New(), preempt.New(), reclaim.New()} {
		framework.RegisterAction(action)
	}
}

// TestShapes prints a pattern for each benchmark of whole schedulers. Each needs a process of its own: Volcano's cache does not end with its context.
func TestShapes(t *testing.T) {
	patterns := map[string]bool{}
	for _, s := range append(shapes, idleShapes...) {
		for _, c := range contestants {
			name := fmt.Sprintf("Benchmark%s/%s/plugins=%s", s.benchmark(), s, c.name)
			pattern := "^" + strings.ReplaceAll(name, "/", "$/^") + "$"
			if patterns[pattern] {
				t.Errorf("two benchmarks are called %s", name)
			}
			patterns[pattern] = true
			t.Log("benchmark", pattern)
		}
	}
}

// BenchmarkScheduler measures the whole scheduler, on the API server in memory: from the first session in which jobs wait until all of them are bound.
func BenchmarkScheduler(b *testing.B) {
	for _, s := range shapes {
		for _, c := range contestants {
			if s.alone() && c.name != "ours" {
				continue
			}
			b.Run(fmt.Sprintf("%s/plugins=%s", s, c.name), func(b *testing.B) {
				var spent time.Duration
				for range b.N {
					spent += schedule(b, s, s.with(c.configuration()), c.register)
				}
				b.ReportAllocs()
				b.ReportMetric(spent.Seconds()*1000/float64(s.bound()*b.N), "cpu-ms/pod")
			})
		}
	}
}

// BenchmarkIdleSession measures sessions of the whole scheduler in which nothing has changed.
func BenchmarkIdleSession(b *testing.B) {
	for _, s := range idleShapes {
		for _, c := range contestants {
			b.Run(fmt.Sprintf("%s/plugins=%s", s, c.name), func(b *testing.B) { idle(b, s, s.with(c.configuration()), c.register) })
		}
	}
}

// idle runs ten sessions for each iteration, after one in which the scheduler learns what runs.
func idle(b *testing.B, s shape, configuration string, register func()) {
	const sessions = 10
	r, _ := begin(b, s, configuration, register)
	session(b.Context(), b, r)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := cpuTime()
	for b.Loop() {
		for range sessions {
			r.scheduler.RunOnce(b.Context())
		}
	}
	spent := cpuTime() - began
	runtime.ReadMemStats(&after)
	all := float64(sessions * b.N)
	b.ReportMetric(spent.Seconds()*1000/all, "cpu-ms/session")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/all, "B/session")
	b.ReportMetric(float64(before.HeapAlloc)/float64(s.Running), "heap-B/pod")
	runtime.KeepAlive(r)
}

// begin starts a scheduler, and runs the session in which it learns what runs. It returns the objects that are still to be created.
func begin(b *testing.B, s shape, configuration string, register func()) (*replay, []*unstructured.Unstructured) {
	var text strings.Builder
	if err := shapeTemplate.Execute(&text, s); err != nil {
		b.Fatal(err)
	}
	objects, err := clusterstate.Objects(strings.NewReader(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	state := &clusterstate.State{Kubernetes: "v1.34.1", Configuration: configuration, Items: objects}
	ctx, cancel := context.WithCancel(context.Background())
	r := &replay{server: apiserver.New(state.Kubernetes), before: state}
	r.register(ctx)
	b.Cleanup(func() {
		cancel()
		r.plugins.Shutdown()
	})
	waiting, err := r.load(state)
	if err != nil {
		b.Fatal(err)
	}
	register()
	if err := r.start(ctx, state); err != nil {
		b.Fatal(err)
	}
	session(ctx, b, r)
	return r, waiting
}

// schedule runs sessions until all pods are bound, and returns their CPU time.
func schedule(b *testing.B, s shape, configuration string, register func()) (spent time.Duration) {
	b.StopTimer()
	r, waiting := begin(b, s, configuration, register)
	ctx := b.Context()
	for _, object := range waiting {
		if err := r.server.Put(object); err != nil {
			b.Fatal(err)
		}
	}
	r.complete = true
	if err := r.control(); err != nil {
		b.Fatal(err)
	}
	if err := r.arrive(ctx); err != nil {
		b.Fatal(err)
	}
	runtime.GC() // what has been read so far is not garbage of the sessions
	for sessions := 0; bound(r) < s.bound(); sessions++ {
		if sessions > 200 {
			b.Fatalf("%d pods have a node after %d sessions, want %d", bound(r), sessions, s.bound())
		}
		before := cpuTime()
		b.StartTimer()
		session(ctx, b, r)
		b.StopTimer()
		spent += cpuTime() - before
		if err := r.control(); err != nil {
			b.Fatal(err)
		}
		if err := r.arrive(ctx); err != nil {
			b.Fatal(err)
		}
	}
	return spent
}

func session(ctx context.Context, b *testing.B, r *replay) {
	r.scheduler.RunOnce(ctx)
	if err := r.arrive(ctx); err != nil {
		b.Fatal(err)
	}
}

// bound returns how many of the pods that have arrived have a node.
func bound(r *replay) (n int) {
	for _, pod := range r.server.List("", "v1", "pods") {
		if node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName"); node != "" && strings.HasPrefix(pod.GetName(), "job-") {
			n++
		}
	}
	return n
}

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // never for the own process
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
