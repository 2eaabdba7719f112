// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	busv1alpha1 "volcano.sh/apis/pkg/apis/bus/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
)

// ofVolcanoJob reads a Volcano Job. The PriorityClasses of its tasks are unknown here. If the minimum of the job does not include
// the minimums of all tasks, tasks count in their order.
func ofVolcanoJob(job *batchv1alpha1.Job) (*Template, error) {
	t := identified(VolcanoJob, job)
	t.Queue, t.PriorityClass, t.keepsTemplate = job.Spec.Queue, job.Spec.PriorityClassName, true
	for i := range job.Spec.Tasks {
		task := &job.Spec.Tasks[i]
		name := cmp.Or(task.Name, fmt.Sprintf("%s%d", batchv1alpha1.DefaultTaskSpec, i))
		t.Tasks = append(t.Tasks, name)
		pods := &task.Template
		if pods.Spec.SchedulerName == "" && job.Spec.SchedulerName != "" {
			pods = pods.DeepCopy()
			pods.Spec.SchedulerName = job.Spec.SchedulerName
		}
		t.Pods = append(t.Pods, PodSet{Name: name, Count: int64(task.Replicas), Template: pods})
	}
	t.Overlaps = len(t.Pods) > 1
	t.describe(job)
	if err := errors.Join(checkTasks(job), checkPolicies(job)); err != nil {
		return t, err
	}
	for i, minimum := range demand.MinimumPods(withDefaults(job), func(string) int32 { return 0 }) {
		t.Pods[i].Minimum = int64(minimum)
	}
	return t, nil
}

// checkTasks returns an error for numbers of pods that Volcano's webhook refuses in the member cluster.
func checkTasks(job *batchv1alpha1.Job) error {
	var errs []error
	var total int64
	for i := range job.Spec.Tasks {
		task := &job.Spec.Tasks[i]
		field := fmt.Sprintf("spec.tasks[%d]", i)
		errs = append(errs, notNegative(field+".replicas", task.Replicas))
		total += int64(max(0, task.Replicas))
		least := demand.LeastOf(task)
		errs = append(errs, notNegative(field+".minAvailable", least))
		if least > int64(max(0, task.Replicas)) {
			errs = append(errs, fmt.Errorf("%s.minAvailable is %d, and replicas is %d: lower minAvailable, or raise replicas", field, least, task.Replicas))
		}
	}
	if total > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("spec.tasks have %d replicas in all: a job has at most %d", total, math.MaxInt32))
	}
	errs = append(errs, notNegative("spec.minAvailable", job.Spec.MinAvailable))
	if int64(job.Spec.MinAvailable) > total {
		errs = append(errs, fmt.Errorf("spec.minAvailable is %d, and the tasks have %d replicas in all: lower minAvailable, or raise replicas", job.Spec.MinAvailable, total))
	}
	return errors.Join(errs...)
}

// checkPolicies returns an error if an aborted job may resume by itself. By then, other workloads may have its room.
func checkPolicies(job *batchv1alpha1.Job) error {
	fields, policies := []string{"spec.policies"}, [][]batchv1alpha1.LifecyclePolicy{job.Spec.Policies}
	for i := range job.Spec.Tasks {
		fields, policies = append(fields, fmt.Sprintf("spec.tasks[%d].policies", i)), append(policies, job.Spec.Tasks[i].Policies)
	}
	var errs []error
	for i, field := range fields {
		for j := range policies[i] {
			if policies[i][j].Action == busv1alpha1.ResumeJobAction {
				errs = append(errs, fmt.Errorf("%s[%d].action is ResumeJob, so that the job may go on without room after it was aborted: use RestartJob", field, j))
			}
		}
	}
	return errors.Join(errs...)
}

// withDefaults returns a job with the minimums that Volcano's webhook sets in the member cluster. The job must have passed
// checkTasks.
func withDefaults(job *batchv1alpha1.Job) *batchv1alpha1.Job {
	spec := batchv1alpha1.JobSpec{MinAvailable: job.Spec.MinAvailable, Tasks: slices.Clone(job.Spec.Tasks)}
	demand.SetTaskDefaults(&spec)
	return &batchv1alpha1.Job{Spec: spec}
}

// ofPodGroup reads a PodGroup. Its pods belong to other objects.
func ofPodGroup(group *schedulingv1beta1.PodGroup) (*Template, error) {
	t := identified(PodGroup, group)
	t.Queue, t.PriorityClass = group.Spec.Queue, group.Spec.PriorityClassName
	t.CardRequest = group.Annotations[card.RequestAnnotation]
	t.describe(group)
	errs := []error{notNegative("spec.minMember", group.Spec.MinMember)}
	if group.Spec.MinResources != nil {
		t.Reserve = *group.Spec.MinResources
	}
	for name, quantity := range t.Reserve {
		if quantity.Sign() < 0 {
			errs = append(errs, fmt.Errorf("spec.minResources[%s] is %s: it must not be negative", name, quantity.String()))
		}
	}
	return t, errors.Join(errs...)
}
