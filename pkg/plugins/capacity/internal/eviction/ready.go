// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// IsPipelined reports whether a job has its minimum, together with its pipelined pods.
func IsPipelined(session *framework.Session, job *api.JobInfo) bool {
	return session.JobPipelined(job) && hasMinimum(job, job.WaitingTaskNum()+job.ReadyTaskNum())
}

// IsReady reports whether a job has its minimum.
func IsReady(session *framework.Session, job *api.JobInfo) bool {
	return session.JobReady(job) && hasMinimum(job, job.ReadyTaskNum())
}

// MayStart is Volcano's JobReadyFn. It reports whether a gang of pods with claims alone has its minimum. It returns true for other jobs: the
// action allocate starts their pods with requests, before the action backfill comes to the others.
func MayStart(obj any) bool {
	job := obj.(*api.JobInfo)
	for _, task := range job.Tasks {
		if !task.BestEffort {
			return true
		}
	}
	return hasMinimum(job, job.ReadyTaskNum())
}

// hasMinimum reports whether a job has its minimum if so many of its pods have nodes. Volcano also counts waiting pods that request no
// resources, because they suit every node. This is not so if they have claims.
func hasMinimum(job *api.JobInfo, placed int32) bool {
	claims := false
	for _, task := range job.TaskStatusIndex[api.Pending] {
		switch {
		case !task.BestEffort:
		case len(task.Pod.Spec.ResourceClaims) > 0:
			claims = true
		default:
			placed++
		}
	}
	return !claims || placed >= job.MinAvailable
}
