// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"volcano.sh/volcano/pkg/scheduler/actions/reclaim"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins"
	"volcano.sh/volcano/pkg/scheduler/plugins/conformance"

	"github.com/devicequota/devicequota/pkg/mistakes"
)

// tiers makes tiers of names, with the options that upstream gives a plugin without any. A name may end in "-reclaimable",
// "-preemptive", or "-starving", which are turned off, or in "+hierarchy" or "+verb".
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
	inTier := func(others string) mistakes.ReclaimFault {
		return mistakes.ReclaimFault{Kind: mistakes.VictimsInOtherTier, Plugin: Name, Others: others}
	}
	of := func(kind mistakes.ReclaimFaultKind) mistakes.ReclaimFault {
		return mistakes.ReclaimFault{Kind: kind, Plugin: Name}
	}
	none := mistakes.ReclaimFault{}
	for _, c := range []struct {
		name    string
		tiers   []conf.Tier
		actions string
		want    mistakes.ReclaimFault
	}{
		{"the shipped tiers", tiers("priority gang conformance capacity", "drf predicates nodeorder binpack"), "enqueue allocate backfill preempt reclaim", none},
		{"no action reclaim", tiers("priority gang conformance capacity"), "enqueue allocate backfill preempt", of(mistakes.NoReclaimAction)},
		{"the action is missed first", tiers("gang", "capacity-reclaimable"), "allocate", of(mistakes.NoReclaimAction)},
		{"nobody knows which actions run", tiers("priority gang conformance capacity"), "", none},
		{"a plugin that is not asked for victims", tiers("gang capacity-reclaimable"), "reclaim", of(mistakes.VictimsNotAsked)},
		{"a plugin that is not asked who may reclaim", tiers("gang capacity-preemptive"), "reclaim", of(mistakes.ReclaimersNotAsked)},
		{"no plugin that finds starving jobs", tiers("conformance capacity"), "reclaim", of(mistakes.NoStarvingJobs)},
		{"no plugin that is asked for starving jobs", tiers("gang-starving priority-starving capacity"), "reclaim", of(mistakes.NoStarvingJobs)},
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
		if got := findReclaimFault(c.tiers, Name, actions); got != c.want {
			t.Errorf("%s: the fault is %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestATierAboveDecidesWithoutWhatQueuesDeserve: this is what the event ReclaimIgnoresDeserved warns of.
func TestATierAboveDecidesWithoutWhatQueuesDeserve(t *testing.T) {
	for _, c := range []struct {
		name  string
		above bool
		want  string
	}{
		{"in one tier, a queue keeps what it deserves", false, "asks:Pending held1:Running held2:Running"},
		{"a tier above takes it away", true, "asks:Pipelined held1:Running held2:Releasing"},
	} {
		s := newFixture(4).queue("root", "", nil).queue("owner", "root", func(q *upstreamv1beta1.QueueSpec) { q.Deserved = cpu(4) })
		s.queue("asker", "root", func(q *upstreamv1beta1.QueueSpec) { q.Deserved = cpu(4) })
		s.job("held", "owner", running, nil, newPod("held1", "n1", cpu(2)), newPod("held2", "n1", cpu(2)))
		s.PodGroups[0].Spec.MinMember = 1
		s.job("asks", "asker", inqueue, nil, newPod("asks", "", cpu(2)))
		s.Plugins = map[string]framework.PluginBuilder{conformance.PluginName: conformance.New}
		option := conf.PluginOption{Name: conformance.PluginName, EnabledReclaimable: ptr.To(true)}
		if c.above {
			s.above = []conf.PluginOption{option}
		} else {
			s.extra = []conf.PluginOption{option}
		}
		ssn := s.act(t)
		got := statuses(ssn)
		got = strings.Replace(got, "held1:Releasing held2:Running", "held1:Running held2:Releasing", 1) // either one
		if got != c.want {
			t.Errorf("%s: pods are %s, want %s", c.name, got, c.want)
		}
		framework.CloseSession(ssn)
	}
}

func TestAQueueThatDeservesSomethingIsToldThatNothingIsReclaimed(t *testing.T) {
	before := conf.EnabledActionMap
	t.Cleanup(func() { conf.EnabledActionMap = before })
	conf.EnabledActionMap = map[string]bool{"enqueue": true, "allocate": true}
	s := newFixture(8).queue("root", "", nil).queue("q", "root", func(q *upstreamv1beta1.QueueSpec) { q.Deserved = cpu(4) })
	ssn := s.open(t)
	client := ssn.KubeClient()
	framework.CloseSession(ssn)
	expectEvent(t, client, "Queue", "q", mistakes.ReclaimNotConfiguredReason, "The queue deserves <4> of cpu, but nothing is taken back from other queues")
	if reclaim.New().Name() != mistakes.ReclaimAction {
		t.Error("the action reclaim has another name")
	}
}
