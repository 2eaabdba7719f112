package capacity

import (
	"fmt"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/demand"
)

// allocate is Volcano's AllocateFunc. It charges a pod that was allocated or pipelined to a node in this session, or
// whose eviction was undone. A pod that cannot have its devices must not be bound: Volcano undoes the allocation,
// or the binding of the pod fails.
func (p *plugin) allocate(event *framework.Event) {
	task := event.Task
	pod, err := p.snapshot.PodOf(task)
	if err != nil {
		klog.V(3).InfoS("Pod is not charged", "reason", err.Error())
		return
	}
	state := p.stateOf(task)
	p.snapshot.AssignCards(pod, task)
	switch {
	case task.Status == api.Allocated && (pod.HasClaims || pod.Cards != nil):
		err = p.reserve(state, pod, task)
	case task.Status == api.Pipelined:
		err = p.snapshot.FitsCards(pod)
	}
	if state.unbindable = err; err != nil {
		event.Err = err
		p.snapshot.UnassignCards(pod)
		return
	}
	if pod.HasClaims && task.Status == api.Pipelined {
		state.pipelined = append(state.pipelined, p.snapshot.Pipeline(pod, task)...)
		return
	}
	p.snapshot.Allocate(pod, task)
}

// reserve reserves devices for a pod, if the quota still allows the pod.
func (p *plugin) reserve(state *podState, pod *demand.Pod, task *api.TaskInfo) error {
	err := p.reserveDevices(state, task)
	if err == nil {
		err = p.snapshot.FitsHeld(pod)
	}
	if err != nil && p.devices != nil {
		p.devices.Unreserve(pod)
	}
	return err
}

func (p *plugin) reserveDevices(state *podState, task *api.TaskInfo) error {
	if !state.filtering {
		return nil
	}
	node, found := p.session.Nodes[task.NodeName]
	if !found {
		return fmt.Errorf("node %s is not in this session", task.NodeName)
	}
	if state.devices == nil {
		return nil
	}
	return p.devices.Reserve(state.devices, node.Node)
}
