// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/plugins"

	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/settings"
)

// tiers makes tiers of plugin names, with upstream's default options. A name may end in "-reclaimable", "-preemptive", or
// "-starving", which are turned off, or in "+hierarchy" or "+verb".
func tiers(all ...string) []conf.Tier {
	var made []conf.Tier
	for _, names := range all {
		var tier conf.Tier
		for name := range strings.FieldsSeq(names) {
			option, off := conf.PluginOption{}, ptr.To(false)
			option.Name, _, _ = strings.Cut(strings.ReplaceAll(name, "+", "-"), "-")
			plugins.ApplyPluginConfDefaults(&option)
			switch strings.TrimPrefix(name, option.Name) {
			case "-reclaimable":
				option.EnabledReclaimable = off
			case "-preemptive":
				option.EnablePreemptive = off
			case "-starving":
				option.EnabledJobStarving = off
			case "+hierarchy":
				option.EnabledHierarchy = ptr.To(true)
			case "+verb":
				option.Arguments = map[string]any{"extender.reclaimableVerb": "reclaimable"}
			}
			tier.Plugins = append(tier.Plugins, option)
		}
		made = append(made, tier)
	}
	return made
}

func TestFaultsOfTheConfigurationThatKeepReclaimFromWorking(t *testing.T) {
	inTier := func(others string) problems.ReclaimFault {
		return problems.ReclaimFault{Kind: problems.VictimsInOtherTier, Plugin: settings.Name, Others: others}
	}
	of := func(kind problems.ReclaimFaultKind) problems.ReclaimFault {
		return problems.ReclaimFault{Kind: kind, Plugin: settings.Name}
	}
	none := problems.ReclaimFault{}
	for _, c := range []struct {
		name    string
		tiers   []conf.Tier
		actions string
		want    problems.ReclaimFault
	}{
		{"the shipped tiers", tiers("priority gang conformance capacity", "drf predicates nodeorder binpack"), "enqueue allocate backfill preempt reclaim", none},
		{"no action reclaim", tiers("priority gang conformance capacity"), "enqueue allocate backfill preempt", of(problems.NoReclaimAction)},
		{"the action is missed first", tiers("gang", "capacity-reclaimable"), "allocate", of(problems.NoReclaimAction)},
		{"nobody knows which actions run", tiers("priority gang conformance capacity"), "", none},
		{"a plugin that is not asked for victims", tiers("gang capacity-reclaimable"), "reclaim", of(problems.VictimsNotAsked)},
		{"a plugin that is not asked who may reclaim", tiers("gang capacity-preemptive"), "reclaim", of(problems.ReclaimersNotAsked)},
		{"no plugin that finds starving jobs", tiers("conformance capacity"), "reclaim", of(problems.NoStarvingJobs)},
		{"no plugin that is asked for starving jobs", tiers("gang-starving priority-starving capacity"), "reclaim", of(problems.NoStarvingJobs)},
		{"priority finds starving jobs, too", tiers("gang-starving priority capacity"), "reclaim", none},
		{"Volcano's sample configuration", tiers("priority gang conformance", "overcommit drf predicates capacity nodeorder"), "reclaim", inTier("gang, conformance")},
		{"a tier above that names no victims", tiers("priority gang-reclaimable", "conformance capacity"), "reclaim", none},
		{"victims are also named in a tier below", tiers("priority capacity", "gang"), "reclaim", inTier("gang")},
		{"drf names victims with hierarchy", tiers("gang capacity", "drf+hierarchy"), "reclaim", inTier("drf")},
		{"an extender names victims with a verb", tiers("gang capacity", "extender", "extender+verb"), "reclaim", inTier("extender")},
		{"crossquota asks all plugins itself", tiers("crossquota", "gang capacity"), "reclaim", none},
		{"the plugin is missing", tiers("gang"), "reclaim", none},
	} {
		var actions map[string]bool
		for action := range strings.FieldsSeq(c.actions) {
			if actions == nil {
				actions = map[string]bool{}
			}
			actions[action] = true
		}
		if got := FindReclaimFault(c.tiers, settings.Name, actions); got != c.want {
			t.Errorf("%s: the fault is %+v, want %+v", c.name, got, c.want)
		}
	}
}
