// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"
)

// preemptable is Volcano's PreemptableFn: may these pods be evicted for another one of their queue? The plugin agrees if it has
// chosen the victims itself, and has no opinion otherwise.
func (p *plugin) preemptable(_ *api.TaskInfo, preemptees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	if p.solves != nil && p.solves.Asked() {
		return preemptees, util.Permit
	}
	return nil, util.Abstain
}
