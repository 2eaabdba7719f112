package crossquota

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/conf"
)

func TestThePluginKnowsWhichActionTriesAPod(t *testing.T) {
	s := newScene(gpuArgs("quota.cpu", 4)).node("gpu", eightCores)
	s.job("low", 1, newPod("low-0", "gpu", "cpu=4")).job("high", 10, newPod("high-0", "", "cpu=2"), newPod("high-1", "", "cpu=2")).open(t)
	s.session.Tiers[0].Plugins = append(s.session.Tiers[0].Plugins, conf.PluginOption{Name: "against", EnablePreemptive: ptr.To(true)})
	pod, other, queue := s.task("high-0"), s.task("high-1"), s.session.Queues["default"]
	votes := true
	s.session.AddPreemptiveFn("against", func(any, any) bool { return votes })

	for _, c := range []struct {
		name string
		do   func()
		want action
	}{
		{"nothing was asked", func() {}, preempting},
		{"allocate asked", func() { s.session.Allocatable(queue, pod) }, allocating},
		{"nothing was asked again", func() {}, preempting},
		{"reclaim asked", func() { s.session.Preemptive(queue, pod) }, reclaiming},
		{"allocate asked of another pod", func() { s.session.Allocatable(queue, other) }, preempting},
		{"reclaim asked, and was told no", func() { votes = false; s.session.Preemptive(queue, pod) }, preempting},
		{"preempt asked for victims", func() {
			s.session.Preemptable(pod, s.tasks("low-0"))
			s.session.Allocatable(queue, pod)
		}, preempting},
		{"allocate follows preempt", func() {
			s.session.Preemptable(pod, s.tasks("low-0"))
			s.session.Overused(queue)
			s.session.Allocatable(queue, pod)
		}, allocating},
	} {
		c.do()
		if err := s.session.PrePredicateFn(pod); err != nil || s.opened.at != c.want {
			t.Errorf("when %s: action %d is at work, want %d (%v)", c.name, s.opened.at, c.want, err)
		}
	}
}

// What allocate says of a node, preempt and reclaim believe.
func TestARefusalLeavesNodesToTheActionsThatCanEvictThere(t *testing.T) {
	for name, c := range map[string]struct {
		queue                         string
		pods                          string
		allocate, preempt, reclaiming bool
	}{
		"pods of the pod's queue hold the quota":              {queue: "default", pods: "cpu=4", allocate: true, preempt: true},
		"a pod of another queue holds it":                     {queue: "other", pods: "cpu=4", allocate: true, reclaiming: true},
		"no pod of another queue holds enough of it":          {queue: "other", pods: "cpu=1 cpu=1 cpu=1 cpu=1"},
		"many pods of the pod's own queue hold little of it":  {queue: "default", pods: "cpu=1 cpu=1 cpu=1 cpu=1", allocate: true, preempt: true},
		"nobody holds it but GPU pods, and it is not lacking": {queue: "other", pods: "nvidia.com/gpu=8", allocate: true, preempt: true, reclaiming: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(gpuArgs("quota.cpu", 4)).node("gpu", eightCores).queue("other").job("web", 10, newPod("web-0", "", "cpu=2"))
			var i int
			for requests := range strings.FieldsSeq(c.pods) {
				s.jobIn(c.queue, "held-"+string(rune('a'+i)), 1, newPod("held-"+string(rune('a'+i)), "gpu", requests))
				i++
			}
			s.open(t)
			task := s.task("web-0")
			for at, want := range map[action]bool{allocating: c.allocate, preempting: c.preempt, reclaiming: c.reclaiming} {
				s.opened.at = at
				if got := s.opened.resolvable(task, s.opened.accounts["gpu"], s.process.facts(task.Pod).requests); got != want {
					t.Errorf("action %d can make room: %t, want %t", at, got, want)
				}
			}
		})
	}
}
