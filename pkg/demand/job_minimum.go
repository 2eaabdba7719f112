// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"slices"
	"strconv"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// MinimumPods returns how many pods of each task belong to the minimum of a job, like calcPGMinResources of Volcano's
// job controller. If the task minimums exceed the job minimum, it takes the first pods by priority. Otherwise, it takes
// the task minimums, and fills up to the job minimum with the first other pods by priority.
func MinimumPods(job *batchv1alpha1.Job, priority func(string) int32) []int32 {
	tasks := job.Spec.Tasks
	order := make([]int, len(tasks))
	least := make([]int32, len(tasks))
	priorities, values := make([]int32, len(tasks)), map[string]int32{} // a job may have thousands of tasks
	total := int32(0)
	for i := range tasks {
		order[i], least[i] = i, tasks[i].Replicas
		if tasks[i].MinAvailable != nil {
			least[i] = *tasks[i].MinAvailable
		}
		total += least[i]
		class := tasks[i].Template.Spec.PriorityClassName
		value, known := values[class]
		if !known {
			value = priority(class)
			values[class] = value
		}
		priorities[i] = value
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(priorities[b], priorities[a]) })
	pods, rest := make([]int32, len(tasks)), job.Spec.MinAvailable
	if rest >= total {
		copy(pods, least)
		rest -= total
	}
	for _, i := range order {
		more := max(0, min(rest, tasks[i].Replicas-pods[i]))
		pods[i], rest = pods[i]+more, rest-more
	}
	return pods
}

// SetTaskDefaults sets the names and minimums of tasks and the minimum of the job, like Volcano's webhook when a job is created. See
// mutateSpec and patchDefaultMinAvailable in its pkg/webhooks/admission/jobs/mutate. It changes the tasks in place.
func SetTaskDefaults(job *batchv1alpha1.JobSpec) {
	least := int32(0)
	for i := range job.Tasks {
		task := &job.Tasks[i]
		if task.Name == "" {
			task.Name = batchv1alpha1.DefaultTaskSpec + strconv.Itoa(i)
		}
		if task.MinAvailable == nil {
			minimum := int32(LeastOf(task))
			task.MinAvailable = &minimum
		}
		least += *task.MinAvailable
	}
	if job.MinAvailable == 0 {
		job.MinAvailable = least
	}
}

// LeastOf returns the minimum of a task, set or defaulted. It may be larger than Volcano can count.
func LeastOf(task *batchv1alpha1.TaskSpec) int64 {
	switch {
	case task.MinAvailable != nil:
		return int64(*task.MinAvailable)
	case task.PartitionPolicy != nil:
		return int64(task.PartitionPolicy.MinPartitions) * int64(task.PartitionPolicy.PartitionSize)
	default:
		return int64(task.Replicas)
	}
}
