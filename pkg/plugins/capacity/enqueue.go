// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/checks"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// jobEnqueueable is Volcano's JobEnqueueableFn. It permits a job if the queue has room for the minimum of the job.
func (p *plugin) jobEnqueueable(obj any) int {
	job := obj.(*api.JobInfo)
	if checks.PodsUnread(job) {
		return util.Reject
	}
	if refusal := p.refuseJob(job); refusal != nil {
		// Another scheduler may have the job, and tells why it waits.
		if other, is := refusal.(refusals.OtherScheduler); !is || other.Scheduler == corev1.DefaultSchedulerName {
			p.cache.report.RefuseJob(job, refusal)
		}
		return util.Reject
	}
	return util.Permit
}

// refuseJob returns why a job is not admitted to its queue, nil if it is admitted.
func (p *plugin) refuseJob(job *api.JobInfo) report.Refusal {
	info, found := p.session.Queues[job.Queue]
	if !found {
		return refusals.QueueMissing{Queue: string(job.Queue)}
	}
	queue, refusal := p.snapshot.Queue(info)
	if refusal != nil {
		return refusal
	}
	ask := p.checks.Ask(queue, job)
	p.snapshot.NoteNeeds(job, ask.Needs)
	return p.checks.Job(ask).Refusal
}

// jobEnqueued is Volcano's JobEnqueuedFn: all plugins agreed to admit the job.
func (p *plugin) jobEnqueued(obj any) {
	p.snapshot.Enqueue(obj.(*api.JobInfo))
}
