// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"strings"
	"sync"
	"testing"

	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
)

// tasks returns pods by name. Spaces separate the names.
func (f *fixture) tasks(names string) []*api.TaskInfo {
	var all []*api.TaskInfo
	for name := range strings.FieldsSeq(names) {
		all = append(all, f.task(name))
	}
	return all
}

func namesOf(tasks []*api.TaskInfo) string {
	var all []string
	for _, task := range tasks {
		all = append(all, task.Name)
	}
	return strings.Join(all, " ")
}

// guard adds a plugin to the tier of this one that protects pods from eviction.
func (f *fixture) guard(protected string) *fixture {
	on := ptr.To(true)
	f.session.Tiers[0].Plugins = append(f.session.Tiers[0].Plugins, conf.PluginOption{Name: "guard", EnabledPreemptable: on, EnabledReclaimable: on, EnabledPredicate: on})
	guard := func(_ *api.TaskInfo, candidates []*api.TaskInfo) ([]*api.TaskInfo, int) {
		var victims []*api.TaskInfo
		for _, candidate := range candidates {
			if !strings.Contains(" "+protected+" ", " "+candidate.Name+" ") {
				victims = append(victims, candidate)
			}
		}
		return victims, permit
	}
	f.session.AddPreemptableFn("guard", guard)
	f.session.AddReclaimableFn("guard", guard)
	return f
}

func TestVictims(t *testing.T) {
	f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores).node("plain", "cpu=8").node("free", eightCores)
	f.job("low", 1, newPod("low-0", "gpu", "cpu=2"), newPod("low-1", "gpu", "cpu=1"), newPod("low-2", "gpu", "cpu=1"), newPod("plain-0", "plain", "cpu=1"), newPod("free-0", "free", "cpu=1"))
	f.job("train", 1, newPod("train-0", "gpu", "cpu=1 nvidia.com/gpu=4"), newPod("train-1", "gpu", "cpu=2 nvidia.com/gpu=4"))
	f.job("safe", 1, newPod("safe-0", "plain", "cpu=1"))
	f.job("high", 10, newPod("high-0", "", "cpu=2"), newPod("large-0", "", "cpu=4"), newPod("gpu-0", "", "cpu=8 nvidia.com/gpu=1")).open(t).guard("low-2")
	type verdict struct {
		victims string
		answer  int
	}
	for name, c := range map[string]struct {
		pod, candidates  string
		preempt, reclaim verdict
	}{
		"one of which is enough":                 {"high-0", "low-0", verdict{"low-0", permit}, verdict{"low-0", permit}},
		"that are enough together":               {"high-0", "low-0 low-1", verdict{"low-0 low-1", permit}, verdict{"low-0", permit}},
		"that use too little":                    {"high-0", "low-1", verdict{"", reject}, verdict{"", reject}},
		"one of which another plugin protects":   {"high-0", "low-1 low-2", verdict{"", reject}, verdict{"", reject}},
		"and GPU pods that would not help":       {"high-0", "train-0 low-0", verdict{"low-0", permit}, verdict{"low-0", permit}},
		"that do not use the quota":              {"high-0", "train-0", verdict{"", reject}, verdict{"", reject}},
		"on a node without GPU":                  {"high-0", "plain-0", verdict{"", abstain}, verdict{"", abstain}},
		"on a node with room in its quota":       {"high-0", "free-0", verdict{"", abstain}, verdict{"", abstain}},
		"none at all":                            {"high-0", "", verdict{"", abstain}, verdict{"", abstain}},
		"for a pod that uses a GPU":              {"gpu-0", "low-1", verdict{"", abstain}, verdict{"", abstain}},
		"for a pod that needs protected victims": {"large-0", "low-0 low-1 low-2", verdict{"", reject}, verdict{"", reject}},
	} {
		t.Run(name, func(t *testing.T) {
			pod, candidates := f.task(c.pod), f.tasks(c.candidates)
			victims, answer := f.opened.preemptable(pod, candidates)
			if got := (verdict{namesOf(victims), answer}); got != c.preempt {
				t.Errorf("preemptable says %v, want %v", got, c.preempt)
			}
			victims, answer = f.opened.reclaimable(pod, candidates)
			if got := (verdict{namesOf(victims), answer}); got != c.reclaim {
				t.Errorf("reclaimable says %v, want %v", got, c.reclaim)
			}
			if contest := f.opened.preemption.Load(); (contest.account != nil) != (c.preempt.answer != abstain) {
				t.Errorf("the contest is %+v", contest)
			}
		})
	}
}

// If the node also lacks memory, pods that do not use the quota may be victims.
func TestAllVictimsArePermittedIfTheNodeLacksResources(t *testing.T) {
	f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores)
	f.job("low", 1, newPod("low-0", "gpu", "cpu=4 memory=1Gi")).job("train", 1, newPod("train-0", "gpu", "cpu=1 memory=30Gi nvidia.com/gpu=8"))
	f.job("high", 10, newPod("high-0", "", "cpu=2 memory=8Gi")).open(t)
	victims, answer := f.opened.preemptable(f.task("high-0"), f.tasks("low-0 train-0"))
	if got := namesOf(victims); got != "low-0 train-0" || answer != permit {
		t.Errorf("preemptable says %s, %d", got, answer)
	}
}

func TestAskingAllPluginsIsSafeForConcurrentUse(t *testing.T) {
	f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores)
	f.job("low", 1, newPod("low-0", "gpu", "cpu=2"), newPod("low-1", "gpu", "cpu=2"), newPod("train-0", "gpu", "cpu=1 nvidia.com/gpu=8"))
	f.job("high", 10, newPod("high-0", "", "cpu=2")).open(t).guard("low-1")
	var wait sync.WaitGroup
	for range 16 {
		candidates := f.tasks("train-0 low-1 low-0")
		wait.Go(func() {
			for range 100 {
				if got := namesOf(f.session.Preemptable(f.task("high-0"), candidates)); got != "low-0" {
					t.Errorf("victims are %q", got)
				}
			}
		})
	}
	wait.Wait()
	f.opened.asked.Range(func(question, _ any) bool {
		t.Errorf("%v is still asked", question)
		return true
	})
}
