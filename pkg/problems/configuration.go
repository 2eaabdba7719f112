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

// victimsElsewhere returns the plugins that name victims in tiers without capacity.
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
