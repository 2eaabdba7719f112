// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
)

// agreement asks the other plugins whether pods may be evicted. Upstream asks tier by tier: the first tier in which a plugin
// names victims decides, so a veto in one tier passes the decision to the next. Here, each plugin is asked separately, and all
// must agree. Plugin gang is not asked, because it also protects pods that stand alone: see unit.
type agreement struct {
	session *framework.Session
	// each has one tier per plugin, together with the plugin that owns the solver. The owner permits everything. Without
	// it, a plugin without an opinion would look like a veto.
	each []conf.Tier
	// asking says that the plugins are being asked.
	asking bool
}

func newAgreement(session *framework.Session, owner string) agreement {
	a := agreement{session: session}
	permits := conf.PluginOption{Name: owner, EnabledReclaimable: ptr.To(true), EnabledPreemptable: ptr.To(true)}
	for _, tier := range session.Tiers {
		for _, option := range tier.Plugins {
			if option.Name != gang.PluginName && option.Name != owner {
				a.each = append(a.each, conf.Tier{Plugins: []conf.PluginOption{option, permits}})
			}
		}
	}
	return a
}

// agree reports whether all plugins agree to evict these victims for a pod.
func (a *agreement) agree(rule Rule, preemptor *api.TaskInfo, victims []*api.TaskInfo) bool {
	tiers := a.session.Tiers
	a.asking = true
	defer func() { a.session.Tiers, a.asking = tiers, false }()
	ask := a.session.Reclaimable
	if rule == Preempt {
		ask = a.session.Preemptable
	}
	for i := range a.each {
		a.session.Tiers = a.each[i : i+1]
		if len(ask(preemptor, victims)) != len(victims) {
			return false
		}
	}
	return true
}
