// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"strconv"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

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
