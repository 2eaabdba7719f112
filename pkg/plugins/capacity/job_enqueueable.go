// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/helpers"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"
)

// jobEnqueueable is Volcano's JobEnqueueableFn: does the queue have room for what the job needs at least?
func (p *plugin) jobEnqueueable(obj any) int {
	job := obj.(*api.JobInfo)
	if podsUnread(job) {
		return util.Reject
	}
	if refusal := p.refuseJob(job); refusal != nil {
		p.cache.report.RefuseJob(job, refusal)
		return util.Reject
	}
	return util.Permit
}

// podsUnread reports whether a job has pods that the scheduler has not read yet. Volcano's controllers make a PodGroup for pods that
// others create, and name it in the pods' annotations after that. Only the pods say which devices and cards the job needs. The PodGroup
// of a Volcano Job that is called podgroup has such a name, too, and the pods of that job are created only when it has been let in.
func podsUnread(job *api.JobInfo) bool {
	owner := metav1.GetControllerOf(&job.PodGroup.PodGroup)
	return len(job.Tasks) == 0 && owner != nil && job.PodGroup.Name == batchv1alpha1.PodgroupNamePrefix+string(owner.UID) &&
		schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() != helpers.JobKind.GroupKind()
}
