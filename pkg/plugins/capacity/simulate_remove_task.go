// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// simulateRemoveTask is Volcano's SimulateRemoveTaskFn: a pod gives back what it holds.
func (p *plugin) simulateRemoveTask(_ context.Context, cycle fwk.CycleState, _, removed *api.TaskInfo, _ *api.NodeInfo) error {
	books, pod, err := p.simulationWith(cycle, removed)
	if err != nil {
		return err
	}
	return books.ReleaseHeld(snapshot.HolderOf(removed), pod.Demand)
}
