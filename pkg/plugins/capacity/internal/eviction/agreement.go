// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
)

// agreement asks the other plugins whether pods may be evicted. Upstream asks tier by tier, and the first tier in which a plugin
// names victims decides, so that a veto in one tier leaves the decision to the next. Here all plugins must agree.
// Plugin gang is not asked, because it protects pods that stand alone as well: see unit.
type agreement struct {
	session *framework.Session
	// all has the plugins of all tiers.
	all []conf.Tier
	// asking says that the plugins are being asked.
	asking bool
}

func newAgreement(session *framework.Session) agreement {
	var all conf.Tier
	for _, tier := range session.Tiers {
		for _, option := range tier.Plugins {
			if option.Name != gang.PluginName {
				all.Plugins = append(all.Plugins, option)
			}
		}
	}
	return agreement{session: session, all: []conf.Tier{all}}
}

// agree reports whether all plugins agree that these victims are evicted for a pod.
func (a *agreement) agree(rule Rule, preemptor *api.TaskInfo, victims []*api.TaskInfo) bool {
	tiers := a.session.Tiers
	a.session.Tiers, a.asking = a.all, true
	defer func() { a.session.Tiers, a.asking = tiers, false }()
	if rule == Preempt {
		return len(a.session.Preemptable(preemptor, victims)) == len(victims)
	}
	return len(a.session.Reclaimable(preemptor, victims)) == len(victims)
}
