// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
)

// StateOfPod returns the state of a pod of the session.
func StateOfPod(task *api.TaskInfo) v1alpha1.State {
	switch {
	case task.Status == api.Pipelined:
		return v1alpha1.Promised
	case task.Status == api.Releasing:
		return v1alpha1.Releasing
	case api.AllocatedStatus(task.Status):
		return v1alpha1.Running
	case task.Status == api.Pending && task.SchGated:
		return v1alpha1.Gated
	case task.Status == api.Pending:
		return v1alpha1.Waiting
	default:
		return v1alpha1.Ended
	}
}

// StateOfJob returns the state of a job of the session.
func StateOfJob(job *api.JobInfo) v1alpha1.State {
	switch {
	case job.PodGroup.Status.Phase == scheduling.PodGroupCompleted:
		return v1alpha1.Ended
	case job.IsPending() || job.ReadyTaskNum() < job.MinAvailable || len(job.TaskStatusIndex[api.Pending]) > 0:
		return v1alpha1.Waiting
	default:
		return v1alpha1.Running
	}
}

// VolcanoJob explains a Volcano Job without a PodGroup: Volcano's controllers have deleted it, or have not created it yet.
func VolcanoJob(job *batchv1alpha1.Job) *v1alpha1.Explanation {
	explanation := &v1alpha1.Explanation{Subject: describe.Object("Job", &job.ObjectMeta), Queue: job.Spec.Queue}
	switch phase := job.Status.State.Phase; phase {
	case batchv1alpha1.Completed, batchv1alpha1.Failed, batchv1alpha1.Terminated, batchv1alpha1.Aborted:
		explanation.State = v1alpha1.Ended
	case batchv1alpha1.Completing, batchv1alpha1.Terminating, batchv1alpha1.Aborting:
		explanation.State = v1alpha1.Releasing
	default:
		explanation.State = v1alpha1.Waiting
		explanation.Cause = &v1alpha1.Refusal{Message: fmt.Sprintf("The job, which is %s, has no PodGroup in this session: Volcano's controllers create one for it, see whether they run",
			cmp.Or(phase, batchv1alpha1.Pending))}
	}
	return explanation
}
