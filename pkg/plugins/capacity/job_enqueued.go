// SPDX-License-Identifier: Apache-2.0

package capacity

import "volcano.sh/volcano/pkg/scheduler/api"

// jobEnqueued is Volcano's JobEnqueuedFn: all plugins agreed to admit the job.
func (p *plugin) jobEnqueued(obj any) {
	p.snapshot.Enqueue(obj.(*api.JobInfo))
}
