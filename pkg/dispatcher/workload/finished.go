// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Finished reports whether the status from a member cluster is the end of the workload. Ended says how it ended, in the words of its kind.
// Deployments, StatefulSets, CronJobs, DaemonSets, and objects of unknown kinds never end. It returns an error if the status cannot be read.
func Finished(kind schema.GroupVersionKind, rawStatus []byte) (ended string, finished bool, err error) {
	var read func([]byte) (string, error)
	switch kind.GroupKind() {
	case VolcanoJob.GroupKind():
		read = endOfVolcanoJob
	case PodGroup.GroupKind():
		read = endOfPodGroup
	case Job.GroupKind():
		read = endOfJob
	case Pod.GroupKind():
		read = endOfPod
	}
	if read == nil || len(rawStatus) == 0 {
		return "", false, nil
	}
	ended, err = read(rawStatus)
	if err != nil {
		return "", false, fmt.Errorf("the status of a %s cannot be read: %w", kind.Kind, err)
	}
	return ended, ended != "", nil
}

// endOfVolcanoJob returns the final phase of a job, "" if it has not ended. A job may be Completed while some pods still run. An Aborted
// job goes on only if a user resumes it: see checkPolicies.
func endOfVolcanoJob(raw []byte) (string, error) {
	var status batchv1alpha1.JobStatus
	if err := json.Unmarshal(raw, &status); err != nil {
		return "", err
	}
	if status.Pending > 0 || status.Running > 0 || status.Terminating > 0 || status.Unknown > 0 {
		return "", nil
	}
	switch phase := status.State.Phase; phase {
	case batchv1alpha1.Completed, batchv1alpha1.Failed, batchv1alpha1.Terminated, batchv1alpha1.Aborted:
		return string(phase), nil
	}
	return "", nil
}

func endOfPodGroup(raw []byte) (string, error) {
	var status schedulingv1beta1.PodGroupStatus
	if err := json.Unmarshal(raw, &status); err != nil {
		return "", err
	}
	if status.Phase == schedulingv1beta1.PodGroupCompleted {
		return string(status.Phase), nil
	}
	return "", nil
}

func endOfJob(raw []byte) (string, error) {
	var status batchv1.JobStatus
	if err := json.Unmarshal(raw, &status); err != nil {
		return "", err
	}
	for _, c := range status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return string(c.Type), nil
		}
	}
	return "", nil
}

func endOfPod(raw []byte) (string, error) {
	var status corev1.PodStatus
	if err := json.Unmarshal(raw, &status); err != nil {
		return "", err
	}
	if status.Phase == corev1.PodSucceeded || status.Phase == corev1.PodFailed {
		return string(status.Phase), nil
	}
	return "", nil
}
