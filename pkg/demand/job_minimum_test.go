// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"testing"

	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

func TestDefaultsOfTasks(t *testing.T) {
	partitions := &batchv1alpha1.PartitionPolicySpec{TotalPartitions: 4, PartitionSize: 2, MinPartitions: 1}
	for _, c := range []struct {
		name           string
		task           batchv1alpha1.TaskSpec
		job, want, all int32
	}{
		{"all pods of a task that says nothing", batchv1alpha1.TaskSpec{Replicas: 8}, 0, 8, 8},
		{"the least partitions of a task with partitions", batchv1alpha1.TaskSpec{Replicas: 8, PartitionPolicy: partitions}, 0, 2, 2},
		{"a minimum of its own", batchv1alpha1.TaskSpec{Replicas: 8, PartitionPolicy: partitions, MinAvailable: ptr.To[int32](4)}, 0, 4, 4},
		{"a minimum of the job", batchv1alpha1.TaskSpec{Replicas: 8, PartitionPolicy: partitions}, 6, 2, 6},
	} {
		spec := batchv1alpha1.JobSpec{MinAvailable: c.job, Tasks: []batchv1alpha1.TaskSpec{c.task}}
		SetTaskDefaults(&spec)
		if got := *spec.Tasks[0].MinAvailable; got != c.want || spec.MinAvailable != c.all || spec.Tasks[0].Name != "default0" {
			t.Errorf("%s: task %s has %d, job has %d, want %d and %d", c.name, spec.Tasks[0].Name, got, spec.MinAvailable, c.want, c.all)
		}
	}
}
