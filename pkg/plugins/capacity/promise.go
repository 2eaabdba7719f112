// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
)

// reclaimed is what a pod may get by reclaim.
type reclaimed struct {
	node string
	// victims are the pods of the node that may be evicted.
	victims []*demand.Pod
}

// promiseDevices makes sure that a pod that is pipelined to a node gets its devices there when others have left.
// Volcano knows no devices: it would pipeline the pod to any node, and evict others for it in vain.
func (p *plugin) promiseDevices(placement *placement, task *api.TaskInfo) error {
	if !placement.begun || placement.devices == nil {
		return nil
	}
	node, found := p.session.Nodes[task.NodeName]
	if !found {
		return fmt.Errorf("node %s is not in this session", task.NodeName)
	}
	leaving := p.leaving(node)
	if placement.reclaimed.node == task.NodeName {
		// Reclaim evicts no more pods in a cycle than cpu and memory need. It goes on in the next cycle.
		leaving = append(leaving, placement.reclaimed.victims...)
	}
	return p.devices.Promise(placement.devices, node.Node, leaving)
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

// checkReclaim notes the pods of a node that may be evicted for a pod. The error says why the pod cannot have its devices
// there even without these pods.
func (p *plugin) checkReclaim(task *api.TaskInfo, name string, victims []*demand.Pod) error {
	placement := p.existingPlacement(task)
	if placement == nil || !placement.begun || placement.devices == nil {
		return nil
	}
	node, found := p.session.Nodes[name]
	if !found {
		return fmt.Errorf("node %s is not in this session", name)
	}
	placement.reclaimed = reclaimed{node: name, victims: victims}
	_, err := p.devices.Obtainable(placement.devices, node.Node, append(p.leaving(node), victims...))
	return err
}
