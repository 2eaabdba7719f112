// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"maps"
	"sort"

	"volcano.sh/volcano/pkg/controllers/job/helpers"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// taskMinimums divides pods of a job into those that the minimum of each task needs, and others. It keeps their order. As in Volcano, the minimums of tasks
// do not count if the minimum of the job is smaller.
func taskMinimums(job *api.JobInfo, tasks []*api.TaskInfo) (needed, others []*api.TaskInfo) {
	if len(job.TaskMinAvailable) == 0 || job.MinAvailable < job.TaskMinAvailableTotal {
		return nil, tasks
	}
	left := maps.Clone(job.TaskMinAvailable)
	for _, task := range tasks {
		if left[task.TaskRole] > 0 {
			left[task.TaskRole]--
			needed = append(needed, task)
		} else {
			others = append(others, task)
		}
	}
	return needed, others
}

// TaskOrder returns an order of the pods of a job: those that the minimum of each task needs come first. Otherwise, other pods take their places, and a gang
// does not start although there is room for it.
func TaskOrder(jobs map[api.JobID]*api.JobInfo) api.CompareFn {
	needed := map[api.JobID]map[api.TaskID]bool{}
	return func(l, r any) int {
		a, b := l.(*api.TaskInfo), r.(*api.TaskInfo)
		job := jobs[a.Job]
		if job == nil || a.Job != b.Job || len(job.TaskMinAvailable) < 2 {
			return 0
		}
		if needed[a.Job] == nil {
			needed[a.Job] = neededByTasks(job)
		}
		switch of := needed[a.Job]; {
		case of[a.UID] == of[b.UID]:
			return 0
		case of[a.UID]:
			return -1
		default:
			return 1
		}
	}
}

// neededByTasks returns the pods of a job that the minimum of each task needs, those that have a node first.
func neededByTasks(job *api.JobInfo) map[api.TaskID]bool {
	var tasks []*api.TaskInfo
	for _, task := range job.Tasks {
		if rank(task) == 0 || task.Status == api.Pending && !task.SchGated {
			tasks = append(tasks, task)
		}
	}
	sort.Slice(tasks, func(i, j int) bool {
		a, b := tasks[i], tasks[j]
		return rank(a) < rank(b) || rank(a) == rank(b) && helpers.CompareTask(a, b)
	})
	needed := map[api.TaskID]bool{}
	first, _ := taskMinimums(job, tasks)
	for _, task := range first {
		needed[task.UID] = true
	}
	return needed
}
