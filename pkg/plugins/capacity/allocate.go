// SPDX-License-Identifier: Apache-2.0

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
	pod = p.snapshot.PlaceOn(pod, p.session.Nodes[task.NodeName])
	switch {
	case pod.HasClaims || pod.Cards != nil:
		event.Err = p.place(pod, task)
	case task.Status == api.Pipelined:
		p.snapshot.Pipeline(pod, task)
	default:
		p.snapshot.Allocate(pod, task)
	}
}

// place charges a pod that asks for devices or cards, and reserves its devices.
func (p *plugin) place(pod *demand.Pod, task *api.TaskInfo) error {
	placement := p.placementOf(task, pod)
	p.snapshot.AssignCards(pod, task)
	placement.unbindable = p.reserve(placement, task)
	switch {
	case placement.unbindable != nil:
		p.snapshot.UnassignCards(pod)
	case task.Status == api.Pipelined:
		placement.pipelined = append(placement.pipelined, p.snapshot.Pipeline(pod, task)...)
	default:
		p.snapshot.Allocate(pod, task)
	}
	return placement.unbindable
}

// reserve makes sure that a pod can have its devices and cards, if the quota still allows the pod: for good if the pod is
// allocated, when other pods are gone if it is pipelined.
func (p *plugin) reserve(placement *placement, task *api.TaskInfo) error {
	switch task.Status {
	case api.Allocated:
		err := p.reserveDevices(placement, task)
		if err == nil {
			err = p.snapshot.FitsHeld(placement.pod)
		}
		if err != nil && p.devices != nil {
			p.devices.Unreserve(placement.pod)
		}
		return err
	case api.Pipelined:
		if err := p.snapshot.FitsCards(placement.pod); err != nil {
			return err
		}
		return p.promiseDevices(placement, task)
	default:
		return nil // the pod runs, and its eviction was undone
	}
}

func (p *plugin) reserveDevices(placement *placement, task *api.TaskInfo) error {
	if !placement.begun {
		return nil
	}
	node, found := p.session.Nodes[task.NodeName]
	if !found {
		return fmt.Errorf("node %s is not in this session", task.NodeName)
	}
	if placement.devices == nil {
		return nil
	}
	return p.devices.Reserve(placement.devices, node.Node)
}
