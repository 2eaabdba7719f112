// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

func TestTopologyAwarePreemptionSparesPodsThatDoNotHelp(t *testing.T) {
	f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores)
	f.actions = topologyAware
	f.job("train", 1, newPod("train-0", "gpu", "cpu=2 nvidia.com/gpu=8"))
	f.job("low", 2, newPod("low-0", "gpu", "cpu=4"))
	f.job("high", 10, newPod("high-0", "", "cpu=2"))
	f.open(t).preempt().expectPlaces(t, "high-0:Pipelined@gpu low-0:Releasing@gpu train-0:Running@gpu")
}

func TestReclaimTakesNothingThatDoesNotHelp(t *testing.T) {
	f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores).queue("other")
	f.jobIn("other", "train", 0, newPod("train-0", "gpu", "cpu=4 nvidia.com/gpu=8"))
	f.job("mine", 0, newPod("mine-0", "gpu", "cpu=4"))
	f.job("web", 0, newPod("web-0", "", "cpu=2"))
	f.open(t).reclaim().expectPlaces(t, "mine-0:Running@gpu train-0:Running@gpu web-0:Pending")
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
