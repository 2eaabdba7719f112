// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// simulateAddTask is Volcano's SimulateAddTaskFn: a pod that was removed comes back.
func (p *plugin) simulateAddTask(_ context.Context, cycle fwk.CycleState, _, added *api.TaskInfo, _ *api.NodeInfo) error {
	books, pod, err := p.simulationWith(cycle, added)
	if err != nil {
		return err
	}
	return books.Charge(pod.Queue, snapshot.HolderOf(added), pod.Demand)
}
