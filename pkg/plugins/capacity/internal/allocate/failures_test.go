// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/util"
)

// randomJob is a job whose pods have some of three roles with minimums.
func randomJob(r *rand.Rand) *api.JobInfo {
	job := api.NewJobInfo("ns/job")
	group := &scheduling.PodGroup{}
	group.Namespace, group.Name, group.Spec.MinMember, group.Spec.MinTaskMember = "ns", "job", int32(r.IntN(8)), map[string]int32{}
	for role := range 2 {
		group.Spec.MinTaskMember[fmt.Sprint("role", role)] = int32(r.IntN(4))
	}
	job.SetPodGroup(&api.PodGroup{PodGroup: *group})
	for p := range 1 + r.IntN(12) {
		requests := api.BuildResourceList("1", "1Gi")
		if r.IntN(4) == 0 {
			requests = nil
		}
		node, phase := "", corev1.PodPending
		if r.IntN(4) == 0 {
			node, phase = "n", []corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded}[r.IntN(2)]
		}
		pod := util.BuildPod("ns", fmt.Sprint("p", p), node, phase, requests, "job", nil, nil)
		pod.UID = types.UID(pod.Name)
		if role := r.IntN(4); role < 3 {
			pod.Annotations["volcano.sh/task-spec"] = fmt.Sprint("role", role)
		}
		task := api.NewTaskInfo(pod)
		job.AddTaskInfo(task)
		if phase == corev1.PodPending && r.IntN(8) == 0 {
			job.NodesFitErrors[task.UID] = api.NewFitErrors()
		}
	}
	return job
}

// TestFailuresSayWhatUpstreamFindsOut in jobs some of whose pods get nodes, and others do not.
func TestFailuresSayWhatUpstreamFindsOut(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		job := randomJob(r)
		subJob := job.SubJobs[job.DefaultSubJobID()]
		known := (&Action{failures: map[api.JobID]*failures{}}).failuresOf(job)
		for _, task := range job.Tasks {
			if task.Status != api.Pending || task.Resreq.IsEmpty() {
				continue
			}
			if got, want := known.has(task), job.TaskHasFitErrors(subJob.UID, task); got != want {
				t.Fatalf("seed %d: a pod of role %q has failed: %t, want %t", seed, task.TaskRole, got, want)
			}
			switch {
			case known.has(task):
				continue
			case r.IntN(2) == 0:
				if err := job.UpdateTaskStatus(task, []api.TaskStatus{api.Allocated, api.Pipelined}[r.IntN(2)]); err != nil {
					t.Fatal(err)
				}
				known.got(task)
				continue
			}
			job.NodesFitErrors[task.UID] = api.NewFitErrors()
			known.fail(task.TaskRole)
			if got, want := known.goOn(subJob), job.NeedContinueAllocating(subJob.UID); got != want {
				t.Fatalf("seed %d: after a failed pod of role %q, the action goes on: %t, want %t", seed, task.TaskRole, got, want)
			}
		}
	}
}

// TestARoleThatNeedsNoPodsIsNotMissing: a PodGroup may list many, and a search looks at those that are missing in each step.
func TestARoleThatNeedsNoPodsIsNotMissing(t *testing.T) {
	for seed := range uint64(2000) {
		job := randomJob(rand.New(rand.NewPCG(seed, 2)))
		missing := (&Action{failures: map[api.JobID]*failures{}}).failuresOf(job).missing()
		if (len(missing) == 0) != job.CheckTaskReady() {
			t.Fatalf("seed %d: %v is missing, and Volcano finds that the tasks are ready: %t", seed, missing, job.CheckTaskReady())
		}
		for role, n := range missing {
			if n <= 0 {
				t.Fatalf("seed %d: role %q misses %d pods", seed, role, n)
			}
		}
	}
}

// TestFailuresAreNotCountedAgain for each pod of a job: for thousands of pods, this took minutes.
func TestFailuresAreNotCountedAgain(t *testing.T) {
	job := randomJob(rand.New(rand.NewPCG(1, 1)))
	known, subJob := (&Action{failures: map[api.JobID]*failures{}}).failuresOf(job), job.SubJobs[job.DefaultSubJobID()]
	for _, task := range job.Tasks {
		if n := testing.AllocsPerRun(10, func() {
			known.has(task)
			known.goOn(subJob)
		}); n != 0 {
			t.Errorf("a pod makes %g objects", n)
		}
	}
}
