package benchmark

import (
	"context"
	"testing"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// BenchmarkSessionOpen is what the plugin does when a session opens in which nothing has
// changed since the last one.
func BenchmarkSessionOpen(b *testing.B) {
	each(b, func(b *testing.B, ssn *framework.Session, builder framework.PluginBuilder) {
		for b.Loop() {
			builder(nil).OnSessionOpen(ssn)
		}
	})
}

// BenchmarkAllocatable asks whether a pod fits its queue and all above it.
func BenchmarkAllocatable(b *testing.B) {
	each(b, func(b *testing.B, ssn *framework.Session, _ framework.PluginBuilder) {
		task := taskOf(b, ssn, api.Pending)
		queue := ssn.Queues[ssn.Jobs[task.Job].Queue]
		for b.Loop() {
			if !ssn.Allocatable(queue, task) {
				b.Fatal("the pod does not fit")
			}
		}
	})
}

// BenchmarkPreemption is what the plugin does for a pod that may preempt others and one victim
// that is considered.
func BenchmarkPreemption(b *testing.B) {
	each(b, func(b *testing.B, ssn *framework.Session, _ framework.PluginBuilder) {
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
	})
}

// BenchmarkEnqueue lets a small job into its queue, again and again.
func BenchmarkEnqueue(b *testing.B) {
	each(b, func(b *testing.B, ssn *framework.Session, _ framework.PluginBuilder) {
		job := ssn.Jobs["ns/small"]
		for b.Loop() {
			if !ssn.JobEnqueueable(job) {
				b.Fatal("the job is not let in")
			}
			ssn.JobEnqueued(job)
		}
	})
}

func taskOf(b *testing.B, ssn *framework.Session, status api.TaskStatus) *api.TaskInfo {
	b.Helper()
	for _, job := range ssn.Jobs {
		for _, task := range job.TaskStatusIndex[status] {
			return task
		}
	}
	b.Fatalf("no pod is %s", status)
	return nil
}
