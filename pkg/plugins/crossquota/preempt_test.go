// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
)

var topologyAware = []conf.Configuration{{Name: "preempt", Arguments: map[string]any{"enableTopologyAwarePreemption": true}}}

func TestPreemption(t *testing.T) {
	for name, c := range map[string]struct {
		// low are the requests of pods on the node, of a job whose priority is 1 unless equal is set. The first one may be releasing.
		low              []string
		equal, releasing bool
		// outside are the requests of a pod without a job, and high those of the pod of a job with priority 10.
		outside, high string
		want          string
	}{
		"evicts only what makes room in the quota, although the node has free resources": {low: []string{"cpu=4"}, high: "cpu=2", want: "high-0:Pipelined@gpu low-0:Releasing@gpu"},
		"evicts no pod while there is room":                                              {low: []string{"cpu=2"}, high: "cpu=2", want: "high-0:Binding@gpu low-0:Running@gpu"},
		"evicts no further pod while one is releasing":                                   {low: []string{"cpu=2", "cpu=2"}, releasing: true, high: "cpu=2", want: "high-0:Pipelined@gpu low-0:Releasing@gpu low-1:Running@gpu"},
		"evicts no pod if the request exceeds the whole quota":                           {low: []string{"cpu=4"}, high: "cpu=5", want: "high-0:Pending low-0:Running@gpu"},
		"evicts no pod if other pods use too much of the quota":                          {low: []string{"cpu=1"}, outside: "cpu=3", high: "cpu=2", want: "high-0:Pending low-0:Running@gpu"},
		"evicts no pod with the same priority":                                           {low: []string{"cpu=4"}, equal: true, high: "cpu=2", want: "high-0:Pending low-0:Running@gpu"},
		"ignores the quota for GPU pods":                                                 {low: []string{"cpu=8"}, high: "cpu=8 nvidia.com/gpu=1", want: "high-0:Pipelined@gpu low-0:Releasing@gpu"},
	} {
		for mode, actions := range map[string][]conf.Configuration{"by resources": nil, "with topology awareness": topologyAware} {
			if actions != nil && c.releasing {
				continue // this mode always evicts at least one pod
			}
			t.Run(name+" "+mode, func(t *testing.T) {
				f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores)
				f.actions = actions
				var pods []*corev1.Pod
				for i, requests := range c.low {
					pods = append(pods, newPod(fmt.Sprint("low-", i), "gpu", requests))
				}
				if c.releasing {
					pods[0].DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
				}
				if c.outside != "" {
					f.outside(newPod("daemon", "gpu", c.outside))
				}
				priority := int32(1)
				if c.equal {
					priority = 10
				}
				f.job("low", priority, pods...).job("high", 10, newPod("high-0", "", c.high))
				f.open(t).preempt().expectPlaces(t, c.want)
			})
		}
	}
}

func TestReclaimTakesWhatHelps(t *testing.T) {
	f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", "cpu=4 nvidia.com/gpu=8").queue("other")
	f.jobIn("other", "batch", 0, newPod("batch-0", "gpu", "cpu=2"), newPod("batch-1", "gpu", "cpu=2"))
	f.job("web", 0, newPod("web-0", "", "cpu=2"))
	f.open(t).reclaim()
	if got := f.task("web-0").Status; got != api.Pipelined {
		t.Errorf("the pod is %s: %s", got, f.places())
	}
}

func TestNoPodIsPipelinedBeyondTheQuota(t *testing.T) {
	f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores)
	f.job("low", 1, newPod("low-0", "gpu", "cpu=4")).job("high", 10, newPod("high-0", "", "cpu=2")).open(t)
	statement := f.session.Statement()
	if err := statement.Pipeline(f.task("high-0"), "gpu", false); err == nil {
		t.Error("the pod is pipelined beyond the quota")
	}
	if err := statement.UnPipeline(f.task("high-0")); err != nil {
		t.Fatal(err)
	}
	if got := f.opened.accounts["gpu"].used[0]; got != 4000 {
		t.Errorf("%d is used after the pod was unpipelined, want 4000", got)
	}
}

func TestAllocatableRefusesOnlyDuringAPreemption(t *testing.T) {
	f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores)
	f.job("low", 1, newPod("low-0", "gpu", "cpu=4")).job("high", 10, newPod("high-0", "", "cpu=2")).open(t)
	high, queue := f.task("high-0"), f.session.Queues["default"]
	if !f.session.Allocatable(queue, high) {
		t.Error("the plugin refuses a pod before any node is tried")
	}
	f.session.Preemptable(high, []*api.TaskInfo{f.task("low-0")})
	if f.session.Allocatable(queue, high) {
		t.Error("the plugin agrees although no pod was evicted")
	}
	if !f.session.Allocatable(queue, f.task("low-0")) {
		t.Error("the plugin refuses another pod")
	}
	if err := f.session.PrePredicateFn(high); err != nil || !f.session.Allocatable(queue, high) {
		t.Errorf("the plugin still refuses when the pod is tried again, %v", err)
	}
}

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
