// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"
)

// jobEnqueueable is Volcano's JobEnqueueableFn: does the queue have room for what the job needs at least?
func (p *plugin) jobEnqueueable(obj any) int {
	job := obj.(*api.JobInfo)
	if refusal := p.refuseJob(job); refusal != nil {
		p.cache.report.RefuseJob(job, refusal)
		return util.Reject
	}
	return util.Permit
}
