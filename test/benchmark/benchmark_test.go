// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"flag"
	"fmt"
	"testing"

	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/plugins/capacity"
)

// repetitions replaces the flag -count, which would build all clusters again for each repetition.
var repetitions = flag.Int("repetitions", 1, "how often each benchmark is run on a cluster")

// bench is one session with one of the plugins.
type bench struct {
	*framework.Session
	builder framework.PluginBuilder
}

// operations are the measured operations. In this order none affects the next one.
var operations = []struct {
	name string
	run  func(*testing.B, bench)
}{
	{"Allocatable", allocatable},
	{"Preemption", preemption},
	{"Enqueue", enqueue},
	{"SessionOpen", sessionOpen},
}

// BenchmarkCapacity runs both plugins on clusters of all shapes.
func BenchmarkCapacity(b *testing.B) {
	for _, s := range shapes() {
		b.Run(s.String(), func(b *testing.B) {
			sc := build(s)
			benches := map[string]bench{}
			for name, builder := range plugins {
				benches[name] = open(sc, builder())
			}
			for _, operation := range operations {
				for range *repetitions {
					for _, name := range []string{"upstream", "ours"} {
						b.Run(fmt.Sprintf("op=%s/plugin=%s", operation.name, name), func(b *testing.B) {
							b.ReportAllocs()
							operation.run(b, benches[name])
						})
					}
				}
			}
		})
	}
}

func open(sc *cache.SchedulerCache, builder framework.PluginBuilder) bench {
	framework.RegisterPluginBuilder(capacity.Name, builder)
	on := ptr.To(true)
	return bench{builder: builder, Session: framework.OpenSession(sc, []conf.Tier{{Plugins: []conf.PluginOption{{
		Name: capacity.Name, EnabledAllocatable: on, EnabledPredicate: on, EnabledJobEnqueued: on, EnabledHierarchy: on,
	}}}}, nil)}
}

// sessionOpen opens a session in which nothing has changed since the last one.
func sessionOpen(b *testing.B, ssn bench) {
	for b.Loop() {
		ssn.builder(nil).OnSessionOpen(ssn.Session)
	}
}

// allocatable checks whether a pod fits its queue and all queues above it.
func allocatable(b *testing.B, ssn bench) {
	task := taskOf(b, ssn, api.Pending)
	queue := ssn.Queues[ssn.Jobs[task.Job].Queue]
	for b.Loop() {
		if !ssn.Allocatable(queue, task) {
			b.Fatal("the pod does not fit")
		}
	}
}

// preemption runs PrePredicate for a pod that may preempt others, and simulates the removal and return of
// one victim.
func preemption(b *testing.B, ssn bench) {
	preemptor, victim, ctx := taskOf(b, ssn, api.Pending), taskOf(b, ssn, api.Running), context.Background()
	queue := ssn.Queues[ssn.Jobs[preemptor.Job].Queue]
	for b.Loop() {
		if err := ssn.PrePredicateFn(preemptor); err != nil {
			b.Fatal(err)
		}
		state := ssn.GetCycleState(preemptor.UID)
		if err := ssn.SimulateRemoveTaskFn(ctx, state, preemptor, victim, nil); err != nil {
			b.Fatal(err)
		}
		if !ssn.SimulateAllocatableFn(ctx, state, queue, preemptor) {
			b.Fatal("the pod does not fit")
		}
		if err := ssn.SimulateAddTaskFn(ctx, state, preemptor, victim, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// enqueue enqueues a small job repeatedly.
func enqueue(b *testing.B, ssn bench) {
	job := ssn.Jobs["ns/small"]
	for b.Loop() {
		if !ssn.JobEnqueueable(job) {
			b.Fatal("the job is not enqueued")
		}
		ssn.JobEnqueued(job)
	}
}

func taskOf(b *testing.B, ssn bench, status api.TaskStatus) *api.TaskInfo {
	b.Helper()
	for _, job := range ssn.Jobs {
		for _, task := range job.TaskStatusIndex[status] {
			return task
		}
	}
	b.Fatalf("no pod is %s", status)
	return nil
}
