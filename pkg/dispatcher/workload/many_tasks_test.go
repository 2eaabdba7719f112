// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// TestAJobOfManyTasksKeepsNobodyWaiting: each cycle asks whether its tasks fit, and grants nothing that it has decided too long ago.
func TestAJobOfManyTasksKeepsNobodyWaiting(t *testing.T) {
	const tasks = 150_000
	job, counts := &Template{}, map[string]batchv1alpha1.TaskState{}
	for i := range tasks {
		name := fmt.Sprintf("task-%06d", i)
		job.Pods = append(job.Pods, PodSet{Name: name, Count: 1})
		counts[name] = batchv1alpha1.TaskState{Phase: map[corev1.PodPhase]int32{corev1.PodRunning: 1}}
	}
	fit := make(chan bool)
	go func() { fit <- job.tasksFit(counts) }()
	select {
	case fits := <-fit:
		if !fits {
			t.Error("the tasks do not fit")
		}
	case <-time.After(30 * time.Second):
		t.Error("each task is compared with all others")
	}
}
