// SPDX-License-Identifier: Apache-2.0

package hypernodes

import (
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// GradientsWithout returns the HyperNodes in which Volcano's action allocate tries to place a job, by tier, as if a plugin had no opinion. Volcano asks only
// the first plugin that has one.
func GradientsWithout(session *framework.Session, plugin string, job *api.JobInfo, within *api.HyperNodeInfo) [][]*api.HyperNodeInfo {
	for t := range session.Tiers {
		for i := range session.Tiers[t].Plugins {
			option := &session.Tiers[t].Plugins[i]
			if option.Name == plugin {
				before := option.EnabledHyperNodeGradient
				option.EnabledHyperNodeGradient = ptr.To(false)
				defer func() { option.EnabledHyperNodeGradient = before }()
			}
		}
	}
	return session.HyperNodeGradientForJobFn(job, within)
}
