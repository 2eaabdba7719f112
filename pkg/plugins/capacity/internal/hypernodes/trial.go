// SPDX-License-Identifier: Apache-2.0

package hypernodes

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// Trial knows in which HyperNode upstream's allocate is placing a job. Allocate gives a pod its nominated node first, also if that is elsewhere.
type Trial struct {
	job   api.JobID
	nodes sets.Set[string]
}

// follower is the name under which a trial is told the HyperNode.
const follower = "devicequota-hypernodes"

// Follow makes a session tell the trial the HyperNode. Volcano asks one plugin only, so the trial comes first and asks the others.
func (t *Trial) Follow(session *framework.Session) {
	others := session.Tiers
	all := append([]conf.Tier{{Plugins: []conf.PluginOption{{Name: follower, EnabledHyperNodeGradient: ptr.To(true)}}}}, others...)
	session.AddHyperNodeGradientForSubJobFn(follower, func(group *api.SubJobInfo, hyperNode *api.HyperNodeInfo) [][]*api.HyperNodeInfo {
		t.job, t.nodes = group.Job, session.RealNodesSet[hyperNode.Name]
		session.Tiers = others
		defer func() { session.Tiers = all }()
		return session.HyperNodeGradientForSubJobFn(group, hyperNode)
	})
	session.Tiers = all
}

// Excludes reports whether a node is outside the HyperNode in which the job of a pod is being placed.
func (t *Trial) Excludes(task *api.TaskInfo, node string) bool {
	return t.job == task.Job && t.nodes != nil && !t.nodes.Has(node)
}

// End ends the trial: allocate is done.
func (t *Trial) End() { t.job, t.nodes = "", nil }
