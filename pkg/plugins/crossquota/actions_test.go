// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/conf"
)

func TestThePluginFindsOutWhichActionIsRunning(t *testing.T) {
	f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores)
	f.job("low", 1, newPod("low-0", "gpu", "cpu=4")).job("high", 10, newPod("high-0", "", "cpu=2"), newPod("high-1", "", "cpu=2")).open(t)
	f.session.Tiers[0].Plugins = append(f.session.Tiers[0].Plugins, conf.PluginOption{Name: "against", EnablePreemptive: ptr.To(true)})
	pod, other, queue := f.task("high-0"), f.task("high-1"), f.session.Queues["default"]
	votes := true
	f.session.AddPreemptiveFn("against", func(any, any) bool { return votes })

	for _, c := range []struct {
		name string
		do   func()
		want action
	}{
		{"no call came before", func() {}, preempting},
		{"allocate called Allocatable", func() { f.session.Allocatable(queue, pod) }, allocating},
		{"no further call came before", func() {}, preempting},
		{"reclaim called Preemptive", func() { f.session.Preemptive(queue, pod) }, reclaiming},
		{"allocate called Allocatable for another pod", func() { f.session.Allocatable(queue, other) }, preempting},
		{"reclaim called Preemptive and another plugin voted against it", func() { votes = false; f.session.Preemptive(queue, pod) }, preempting},
		{"preempt called Preemptable", func() {
			f.session.Preemptable(pod, f.tasks("low-0"))
			f.session.Allocatable(queue, pod)
		}, preempting},
		{"allocate runs after preempt", func() {
			f.session.Preemptable(pod, f.tasks("low-0"))
			f.session.Overused(queue)
			f.session.Allocatable(queue, pod)
		}, allocating},
	} {
		c.do()
		if err := f.session.PrePredicateFn(pod); err != nil || f.opened.current != c.want {
			t.Errorf("when %s: the action is %d, want %d (%v)", c.name, f.opened.current, c.want, err)
		}
	}
}

// The preempt and reclaim actions reuse the answers that the allocate action got about nodes.
func TestARefusalLeavesNodesToTheActionsThatCanEvictThere(t *testing.T) {
	for name, c := range map[string]struct {
		queue                         string
		pods                          string
		allocate, preempt, reclaiming bool
	}{
		"pods of the same queue use the quota":              {queue: "default", pods: "cpu=4", allocate: true, preempt: true},
		"a pod of another queue uses the quota":             {queue: "other", pods: "cpu=4", allocate: true, reclaiming: true},
		"no pod of another queue uses enough of it":         {queue: "other", pods: "cpu=1 cpu=1 cpu=1 cpu=1"},
		"many pods of the same queue use little of it each": {queue: "default", pods: "cpu=1 cpu=1 cpu=1 cpu=1", allocate: true, preempt: true},
		"the quota is free because only GPU pods run":       {queue: "other", pods: "nvidia.com/gpu=8", allocate: true, preempt: true, reclaiming: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores).queue("other").job("web", 10, newPod("web-0", "", "cpu=2"))
			var i int
			for requests := range strings.FieldsSeq(c.pods) {
				f.jobIn(c.queue, "existing-"+string(rune('a'+i)), 1, newPod("existing-"+string(rune('a'+i)), "gpu", requests))
				i++
			}
			f.open(t)
			task := f.task("web-0")
			for at, want := range map[action]bool{allocating: c.allocate, preempting: c.preempt, reclaiming: c.reclaiming} {
				f.opened.current = at
				if got := f.opened.evictionsHelp(task, f.opened.accounts["gpu"], f.cache.facts(task.Pod).requests); got != want {
					t.Errorf("action %d can make room: %t, want %t", at, got, want)
				}
			}
		})
	}
}
