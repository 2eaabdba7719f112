// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
)

const (
	// arrival is the time that controllers may take to create the pods of a job and the claims of a pod.
	arrival = 5 * time.Second
	// departure is the time that the binding of a pod may take.
	departure = time.Second
)

// UpdateJobStatus writes what became of a job, as Volcano's cache does, unless it is over in a moment: most pods would cost twice as many requests.
func (p *pods) UpdateJobStatus(job *api.JobInfo, status, annotations, info bool) (*api.JobInfo, error) {
	if now := time.Now(); arrives(job, now) || p.bindings.begun(job, now.Add(-departure)) {
		return job, nil
	}
	return p.SchedulerCache.UpdateJobStatus(job, status, annotations, info)
}

// arrives reports whether controllers are still creating pods of a job, or their claims. Nothing of the job has a node then. A job without pods does not
// arrive: controllers such as that of Volcano Jobs create them only after they have read that it is let in.
func arrives(job *api.JobInfo, now time.Time) bool {
	if len(job.TaskStatusIndex[api.Pending]) < len(job.Tasks) {
		return false
	}
	young, lacks := false, len(job.Tasks) < int(job.MinAvailable)
	for _, task := range job.Tasks {
		young = young || now.Sub(task.Pod.CreationTimestamp.Time) < arrival
		lacks = lacks || !dra.ClaimsNamed(task.Pod)
	}
	return young && lacks
}

// begun reports whether pods of a job are being bound, all since a certain time, and no pod waits.
func (b *bindings) begun(job *api.JobInfo, after time.Time) bool {
	for status := range job.TaskStatusIndex {
		if status == api.Pending || status == api.Pipelined || status == api.Allocated {
			return false
		}
	}
	for uid := range job.TaskStatusIndex[api.Binding] {
		if since, binds := b.since(job.Tasks[uid].Pod.UID); !binds || since.Before(after) {
			return false
		}
	}
	return len(job.TaskStatusIndex[api.Binding]) > 0
}
