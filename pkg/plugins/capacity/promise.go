// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
)

// promiseDevices makes sure that a pod that is pipelined to a node gets its devices there when others have left.
// Volcano knows no devices: it would pipeline the pod to any node where others are leaving.
func (p *plugin) promiseDevices(placement *placement, task *api.TaskInfo) error {
	if !placement.begun || placement.devices == nil {
		return nil
	}
	node, found := p.session.Nodes[task.NodeName]
	if !found {
		return fmt.Errorf("node %s is not in this session", task.NodeName)
	}
	return p.devices.Promise(placement.devices, node.Node, p.leaving(node))
}

// leaving returns the pods that are releasing what they hold on a node.
func (p *plugin) leaving(node *api.NodeInfo) []*demand.Pod {
	var leaving []*demand.Pod
	for _, task := range node.Tasks {
		if pod := p.snapshot.Known(task.Pod); pod != nil && task.Status == api.Releasing {
			leaving = append(leaving, pod)
		}
	}
	return leaving
}
