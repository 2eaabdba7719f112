// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/plugins/extender"

	"github.com/devicequota/devicequota/pkg/problems"
)

// FindReclaimFault finds a fault in the scheduler's configuration that keeps queues from getting what they deserve.
// actions are the actions that run, nil if unknown. plugin is the name of this plugin in the session.
func FindReclaimFault(tiers []conf.Tier, plugin string, actions map[string]bool) problems.ReclaimFault {
	all := make([][]problems.Plugin, len(tiers))
	for i := range tiers {
		for j := range tiers[i].Plugins {
			option := &tiers[i].Plugins[j]
			verb, _ := option.Arguments[extender.ExtenderReclaimableVerb].(string)
			all[i] = append(all[i], problems.Plugin{
				Name: option.Name, Starving: ptr.Deref(option.EnabledJobStarving, false), Reclaimable: ptr.Deref(option.EnabledReclaimable, false),
				Preemptive: ptr.Deref(option.EnablePreemptive, false), Hierarchy: ptr.Deref(option.EnabledHierarchy, false), ReclaimableVerb: verb,
			})
		}
	}
	return problems.FindReclaimFault(all, plugin, actions)
}
