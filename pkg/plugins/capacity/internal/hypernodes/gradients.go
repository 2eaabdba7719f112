// SPDX-License-Identifier: Apache-2.0

package hypernodes

import (
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// GradientsWithout returns the HyperNodes in which Volcano's action allocate tries to place a job, by tier, as if a plugin had no opinion.
func GradientsWithout(session *framework.Session, plugin string, job *api.JobInfo, within *api.HyperNodeInfo) [][]*api.HyperNodeInfo {
	defer silence(session, plugin)()
	return session.HyperNodeGradientForJobFn(job, within)
}

// tiersOf returns the HyperNodes within another one in which a group may be, by tier. Volcano leaves out those without room for all pods of the group,
// although it may need fewer.
func tiersOf(session *framework.Session, group *api.SubJobInfo, within *api.HyperNodeInfo) (tiers [][]*api.HyperNodeInfo) {
	for _, domain := range Within(session, session.Jobs[group.Job], group, Domain{Name: within.Name, Nodes: session.RealNodesSet[within.Name], tier: within.Tier()}) {
		if len(tiers) == 0 || tiers[len(tiers)-1][0].Tier() != domain.tier {
			tiers = append(tiers, nil)
		}
		tiers[len(tiers)-1] = append(tiers[len(tiers)-1], session.HyperNodes[domain.Name])
	}
	return tiers
}

// silence keeps Volcano from asking a plugin, until it is undone. Volcano asks only the first plugin that has an opinion.
func silence(session *framework.Session, plugin string) (undo func()) {
	undo = func() {}
	for t := range session.Tiers {
		for i := range session.Tiers[t].Plugins {
			option := &session.Tiers[t].Plugins[i]
			if option.Name == plugin {
				before := option.EnabledHyperNodeGradient
				option.EnabledHyperNodeGradient = ptr.To(false)
				undo = func() { option.EnabledHyperNodeGradient = before }
			}
		}
	}
	return undo
}
