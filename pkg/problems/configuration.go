// SPDX-License-Identifier: Apache-2.0

package problems

import (
	"slices"
	"strings"
)

// ReclaimAction is the action of the scheduler that takes back what queues deserve.
const ReclaimAction = "reclaim"

// Plugin is the configuration of a plugin that reclaim depends on. Options that are not set have Volcano's defaults.
type Plugin struct {
	Name string
	// Starving, Reclaimable, Preemptive, and Hierarchy are enableJobStarving, enableReclaimable, enablePreemptive, and enableHierarchy.
	Starving, Reclaimable, Preemptive, Hierarchy bool
	// ReclaimableVerb is the argument with which the plugin extender names victims.
	ReclaimableVerb string
}

// starvingPlugins are upstream's plugins that find starving jobs. Without one of them, no job starves, and reclaim does nothing.
var starvingPlugins = []string{"gang", "priority", "tdm"}

// victimPlugins are upstream's plugins that name victims for reclaim without special options. They do not include the plugin crossquota,
// which names only victims that all other plugins permit.
var victimPlugins = []string{"cdp", "conformance", "gang", "pdb", "proportion"}

// namesVictims reports whether a plugin other than capacity names victims for reclaim.
func (p *Plugin) namesVictims() bool {
	if !p.Reclaimable {
		return false
	}
	switch p.Name {
	case "drf":
		return p.Hierarchy
	case "extender":
		return p.ReclaimableVerb != ""
	default:
		return slices.Contains(victimPlugins, p.Name)
	}
}

// FindReclaimFault finds the setting in the scheduler's configuration that keeps queues from getting what they deserve. Actions are the
// active actions, or nil if they are unknown. Plugin is the name of the plugin capacity in the configuration.
//
// Volcano's Session.Reclaimable asks the tiers in order, and evicts the victims of the first tier that names any. Within a tier, all
// plugins must agree. A plugin in a tier above capacity decides without capacity if it names victims. A plugin in a tier below decides if
// capacity allows none.
func FindReclaimFault(tiers [][]Plugin, plugin string, actions map[string]bool) ReclaimFault {
	fault := ReclaimFault{Plugin: plugin}
	named := func(p Plugin) bool { return p.Name == plugin }
	ownTier := slices.IndexFunc(tiers, func(tier []Plugin) bool { return slices.ContainsFunc(tier, named) })
	if ownTier < 0 {
		return ReclaimFault{}
	}
	own := &tiers[ownTier][slices.IndexFunc(tiers[ownTier], named)]
	findsStarving := func(p Plugin) bool { return p.Starving && slices.Contains(starvingPlugins, p.Name) }
	others := victimsElsewhere(tiers, ownTier)
	switch {
	case actions != nil && !actions[ReclaimAction]:
		fault.Kind = NoReclaimAction
	case !slices.ContainsFunc(slices.Concat(tiers...), findsStarving):
		fault.Kind = NoStarvingJobs
	case !own.Reclaimable:
		fault.Kind = VictimsNotAsked
	case !own.Preemptive:
		fault.Kind = ReclaimersNotAsked
	case len(others) > 0:
		fault.Kind, fault.Others = VictimsInOtherTier, strings.Join(others, ", ")
	default:
		return ReclaimFault{}
	}
	return fault
}

// victimsElsewhere returns the plugins that name victims in tiers without capacity.
func victimsElsewhere(tiers [][]Plugin, own int) []string {
	var names []string
	for _, p := range slices.Concat(slices.Concat(tiers[:own], tiers[own+1:])...) {
		if p.namesVictims() {
			names = append(names, p.Name)
		}
	}
	return names
}
