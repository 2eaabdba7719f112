// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
)

// volumes keeps the volumes that pipelined pods of a session would get from other pods. Upstream's plugin reserves them on the node in the object of the
// pod, which a pipelined pod does not have yet. Two pods of a gang would then count on the same volume, and pods would be evicted for a gang that cannot
// start. The session gives them back when it closes: Kubernetes' cache of volumes outlives it.
type volumes struct {
	session *framework.Session
	plugin  *predicates.PredicatesPlugin
	// nodes has the nodes for which volumes of pods are reserved.
	nodes map[api.TaskID]string
}

func keepVolumes(session *framework.Session, plugin *predicates.PredicatesPlugin) *volumes {
	v := &volumes{session: session, plugin: plugin, nodes: map[api.TaskID]string{}}
	session.AddEventHandler(&framework.EventHandler{
		AllocateFunc: func(event *framework.Event) {
			if event.Task.Status == api.Pipelined && event.Err == nil && len(event.Task.Pod.Spec.Volumes) > 0 {
				event.Err = v.reserve(event.Task)
			}
		},
		DeallocateFunc: func(event *framework.Event) {
			if node, reserved := v.nodes[event.Task.UID]; reserved {
				v.unreserve(event.Task.UID, event.Task.Pod, node)
			}
		},
	})
	return v
}

func (v *volumes) reserve(task *api.TaskInfo) error {
	binding, found := v.plugin.ReservePlugins[volumebinding.Name]
	if !found {
		return nil
	}
	v.nodes[task.UID] = task.NodeName
	return binding.Reserve(context.TODO(), v.session.GetCycleState(task.UID), task.Pod, task.NodeName).AsError()
}

func (v *volumes) unreserve(id api.TaskID, pod *corev1.Pod, node string) {
	delete(v.nodes, id)
	v.plugin.ReservePlugins[volumebinding.Name].Unreserve(context.TODO(), v.session.GetCycleState(id), pod, node)
}

func (v *volumes) close() {
	for _, job := range v.session.Jobs {
		for id, task := range job.TaskStatusIndex[api.Pipelined] {
			if node, reserved := v.nodes[id]; reserved {
				v.unreserve(id, task.Pod, node)
			}
		}
	}
}
