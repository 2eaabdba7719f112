// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/plugins/extender"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

const reclaimAction = "reclaim"

// starvingPlugins are upstream's plugins that tell which jobs starve. Without one of them, no job does, and reclaim does nothing.
var starvingPlugins = []string{"gang", "priority", "tdm"}

// victimPlugins are upstream's plugins that name victims for reclaim, besides those that do so only with certain options. The
// plugin crossquota is not among them: it names only victims that all other plugins permit.
var victimPlugins = []string{"cdp", "conformance", "gang", "pdb", "proportion"}

// namesVictims reports whether a plugin other than this one names victims for reclaim.
func namesVictims(option *conf.PluginOption) bool {
	if !ptr.Deref(option.EnabledReclaimable, false) {
		return false
	}
	switch option.Name {
	case "drf":
		return ptr.Deref(option.EnabledHierarchy, false)
	case "extender":
		verb, _ := option.Arguments[extender.ExtenderReclaimableVerb].(string)
		return verb != ""
	default:
		return slices.Contains(victimPlugins, option.Name)
	}
}

// findReclaimFault finds what in the scheduler's configuration keeps queues from getting what they deserve. Actions are
// those that run, nil if that is not known. Plugin is the name under which this plugin joined the session.
//
// Volcano's Session.Reclaimable asks the tiers in order, and evicts what the first tier with victims names. Within a tier, all plugins
// must agree. A plugin of a tier above this plugin's decides without this plugin as long as it names anybody. A plugin of a tier
// below decides where this plugin allows nobody.
func findReclaimFault(tiers []conf.Tier, plugin string, actions map[string]bool) report.ReclaimFault {
	fault := report.ReclaimFault{Plugin: plugin}
	own, ownTier := findPlugin(tiers, plugin)
	others := victimsElsewhere(tiers, ownTier)
	switch {
	case own == nil:
		return report.ReclaimFault{}
	case actions != nil && !actions[reclaimAction]:
		fault.Kind = report.NoReclaimAction
	case !findsStarving(tiers):
		fault.Kind = report.NoStarvingJobs
	case !ptr.Deref(own.EnabledReclaimable, false):
		fault.Kind = report.VictimsNotAsked
	case !ptr.Deref(own.EnablePreemptive, false):
		fault.Kind = report.ReclaimersNotAsked
	case len(others) > 0:
		fault.Kind, fault.Others = report.VictimsInOtherTier, strings.Join(others, ", ")
	default:
		return report.ReclaimFault{}
	}
	return fault
}

// findPlugin returns the options of a plugin and its tier.
func findPlugin(tiers []conf.Tier, name string) (*conf.PluginOption, int) {
	for i := range tiers {
		for j := range tiers[i].Plugins {
			if option := &tiers[i].Plugins[j]; option.Name == name {
				return option, i
			}
		}
	}
	return nil, 0
}

func findsStarving(tiers []conf.Tier) bool {
	for i := range tiers {
		for _, option := range tiers[i].Plugins {
			if ptr.Deref(option.EnabledJobStarving, false) && slices.Contains(starvingPlugins, option.Name) {
				return true
			}
		}
	}
	return false
}

// victimsElsewhere lists the plugins that name victims in other tiers than this one.
func victimsElsewhere(tiers []conf.Tier, own int) []string {
	var names []string
	for i := range tiers {
		for j := range tiers[i].Plugins {
			if option := &tiers[i].Plugins[j]; i != own && namesVictims(option) {
				names = append(names, option.Name)
			}
		}
	}
	return names
}

// logReclaim logs what keeps reclaim from working as the quotas of the queues say.
func (p *plugin) logReclaim() {
	fault := p.snapshot.ReclaimFault
	deserving, wronged := p.snapshot.Deserving()
	if !wronged {
		fault = report.ReclaimFault{}
	}
	read := p.cache.quotas == nil || p.cache.quotas.Synced()
	p.cache.report.LogReclaim(fault, !deserving && read && conf.EnabledActionMap[reclaimAction])
}
