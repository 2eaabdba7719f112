// SPDX-License-Identifier: Apache-2.0

package hypernodes

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// Trial knows in which HyperNode upstream's allocate is placing a job. Allocate gives a pod its nominated node first, also if that is elsewhere.
type Trial struct {
	job   api.JobID
	nodes sets.Set[string]
}

// Follow makes a session tell the trial the HyperNode, as the opinion of a plugin.
func (t *Trial) Follow(session *framework.Session, plugin string) {
	session.AddHyperNodeGradientForSubJobFn(plugin, func(group *api.SubJobInfo, hyperNode *api.HyperNodeInfo) [][]*api.HyperNodeInfo {
		return t.Gradients(session, plugin, group, hyperNode)
	})
}

// Gradients begins to try a group of pods in a HyperNode. It returns the HyperNodes in there in which the group may be, by tier.
func (t *Trial) Gradients(session *framework.Session, plugin string, group *api.SubJobInfo, within *api.HyperNodeInfo) [][]*api.HyperNodeInfo {
	t.job, t.nodes = group.Job, session.RealNodesSet[within.Name]
	if needsAll := group.ReadyTaskNum()+int32(len(group.TaskStatusIndex[api.Pending])) <= group.MinAvailable; !needsAll {
		return tiersOf(session, group, within)
	}
	defer silence(session, plugin)()
	return session.HyperNodeGradientForSubJobFn(group, within)
}

// Excludes reports whether a node is outside the HyperNode in which the job of a pod is being placed.
func (t *Trial) Excludes(task *api.TaskInfo, node string) bool {
	return t.job == task.Job && t.nodes != nil && !t.nodes.Has(node)
}

// End ends the trial: allocate is done.
func (t *Trial) End() { t.job, t.nodes = "", nil }
