// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"context"

	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
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
	binding k8sframework.ReservePlugin
}

// keepVolumes returns nil if upstream's plugin binds no volumes.
func keepVolumes(session *framework.Session, plugin *predicates.PredicatesPlugin) *volumes {
	binding, found := plugin.ReservePlugins[volumebinding.Name]
	if !found {
		return nil
	}
	v := &volumes{session: session, binding: binding}
	session.AddEventHandler(&framework.EventHandler{
		AllocateFunc: func(event *framework.Event) {
			if task := event.Task; task.Status == api.Pipelined && event.Err == nil && len(task.Pod.Spec.Volumes) > 0 {
				event.Err = binding.Reserve(context.TODO(), session.GetCycleState(task.UID), task.Pod, task.NodeName).AsError()
			}
		},
		DeallocateFunc: func(event *framework.Event) { v.unreserve(event.Task) },
	})
	return v
}

// unreserve does nothing for a pod without reserved volumes.
func (v *volumes) unreserve(task *api.TaskInfo) {
	if len(task.Pod.Spec.Volumes) > 0 {
		v.binding.Unreserve(context.TODO(), v.session.GetCycleState(task.UID), task.Pod, task.NodeName)
	}
}

func (v *volumes) close() {
	for _, job := range v.session.Jobs {
		for _, task := range job.TaskStatusIndex[api.Pipelined] {
			v.unreserve(task)
		}
	}
}
