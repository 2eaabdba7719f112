// SPDX-License-Identifier: Apache-2.0

package problems

import (
	"slices"
	"strings"
)

// ReclaimAction is the action of the scheduler that takes back what queues deserve.
const ReclaimAction = "reclaim"

// Plugin is what the scheduler's configuration says of a plugin that reclaim depends on. Options that are not set have the defaults
// of Volcano.
type Plugin struct {
	Name string
	// Starving, Reclaimable, Preemptive, and Hierarchy are enableJobStarving, enableReclaimable, enablePreemptive, and enableHierarchy.
	Starving, Reclaimable, Preemptive, Hierarchy bool
	// ReclaimableVerb is the argument of the plugin extender with which it names victims.
	ReclaimableVerb string
}

// starvingPlugins are upstream's plugins that tell which jobs starve. Without one of them, no job does, and reclaim does nothing.
var starvingPlugins = []string{"gang", "priority", "tdm"}

// victimPlugins are upstream's plugins that name victims for reclaim, besides those that do so only with certain options. The
// plugin crossquota is not among them: it names only victims that all other plugins permit.
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

// FindReclaimFault finds what in the scheduler's configuration keeps queues from getting what they deserve. Actions are
// those that run, nil if that is not known. Plugin is the name under which the configuration has the plugin capacity.
//
// Volcano's Session.Reclaimable asks the tiers in order, and evicts what the first tier with victims names. Within a tier, all plugins
// must agree. A plugin of a tier above capacity's decides without capacity as long as it names anybody. A plugin of a tier
// below decides where capacity allows nobody.
func FindReclaimFault(tiers [][]Plugin, plugin string, actions map[string]bool) ReclaimFault {
	fault := ReclaimFault{Plugin: plugin}
	own, ownTier := findPlugin(tiers, plugin)
	others := victimsElsewhere(tiers, ownTier)
	switch {
	case own == nil:
		return ReclaimFault{}
	case actions != nil && !actions[ReclaimAction]:
		fault.Kind = NoReclaimAction
	case !findsStarving(tiers):
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

// findPlugin returns a plugin and its tier.
func findPlugin(tiers [][]Plugin, name string) (*Plugin, int) {
	for i := range tiers {
		for j := range tiers[i] {
			if tiers[i][j].Name == name {
				return &tiers[i][j], i
			}
		}
	}
	return nil, 0
}

func findsStarving(tiers [][]Plugin) bool {
	for i := range tiers {
		for j := range tiers[i] {
			if tiers[i][j].Starving && slices.Contains(starvingPlugins, tiers[i][j].Name) {
				return true
			}
		}
	}
	return false
}

// victimsElsewhere lists the plugins that name victims in other tiers than capacity's.
func victimsElsewhere(tiers [][]Plugin, own int) []string {
	var names []string
	for i := range tiers {
		for j := range tiers[i] {
			if i != own && tiers[i][j].namesVictims() {
				names = append(names, tiers[i][j].Name)
			}
		}
	}
	return names
}
