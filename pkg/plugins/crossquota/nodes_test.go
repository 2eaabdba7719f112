// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// twoNodes has nodes a and b with a quota of 4 cores each. The node with a pod that also uses memory is
// tried first.
func twoNodes() *fixture {
	return newFixture(gpuArgs("quota.cpu", 4, argQuotaResources, "cpu,memory")).node("a", eightCores).node("b", eightCores).queue("other")
}

func labelledPod(pod *corev1.Pod, key, value string) *corev1.Pod {
	pod.Labels = map[string]string{key: value}
	return pod
}

func TestPreemptionFindsTheNodeAndThePodsThatHelp(t *testing.T) {
	for name, c := range map[string]struct {
		args  framework.Arguments
		build func(*fixture)
		want  string
		// random is set if there are several queues. The preempt action handles them in random order, and tries the pod only if its queue comes
		// first.
		random bool
	}{
		"a GPU pod stays although its priority is lower": {
			build: func(f *fixture) {
				f.job("train", 1, newPod("train-0", "a", "cpu=2 nvidia.com/gpu=8")).job("low", 2, newPod("low-0", "a", "cpu=4"), newPod("low-1", "b", "cpu=1"))
				f.job("equal", 10, newPod("equal-0", "b", "cpu=3")).job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			},
			want: "equal-0:Running@b high-0:Pipelined@a low-0:Releasing@a low-1:Running@b train-0:Running@a",
		},
		"a pod outside the selector stays although its priority is lower": {
			args: gpuArgs("quota.cpu", 4, argLabelSelector, map[any]any{"matchLabels": map[any]any{"q": "y"}}),
			build: func(f *fixture) {
				f.job("sys", 1, newPod("sys-0", "a", "cpu=2")).job("low", 2, labelledPod(newPod("low-0", "a", "cpu=4"), "q", "y"))
				f.job("equal", 10, labelledPod(newPod("equal-0", "b", "cpu=4"), "q", "y")).job("high", 10, labelledPod(newPod("high-0", "", "cpu=2"), "q", "y"))
			},
			want: "equal-0:Running@b high-0:Pipelined@a low-0:Releasing@a sys-0:Running@a",
		},
		"a node full of another queue's pods is passed over": {
			build: func(f *fixture) {
				f.jobIn("other", "o", 1, newPod("other-0", "a", "cpu=4 memory=20Gi")).job("low", 1, newPod("low-0", "b", "cpu=4"))
				f.job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			},
			want:   "high-0:Pipelined@b low-0:Releasing@b other-0:Running@a",
			random: true,
		},
		"a node that was filled in this cycle is passed over": {
			build: func(f *fixture) {
				f.job("fill", 20, newPod("fill-0", "", "cpu=4 memory=20Gi")).job("low", 1, newPod("low-0", "b", "cpu=4"))
				f.job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			},
			want: "fill-0:Binding@a high-0:Pipelined@b low-0:Releasing@b",
		},
		"a node full of the pod's own siblings is passed over": {
			build: func(f *fixture) {
				f.job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"), newPod("high-1", "a", "cpu=4 memory=20Gi"))
				f.job("low", 1, newPod("low-0", "b", "cpu=4"))
				f.PodGroups[0].Spec.MinMember = 2
			},
			want: "high-0:Pipelined@b high-1:Running@a low-0:Releasing@b",
		},
		"a node full of pods that cannot be preempted is passed over": {
			build: func(f *fixture) {
				safe := newPod("safe-0", "a", "cpu=4 memory=20Gi")
				safe.Annotations["volcano.sh/preemptable"] = "false"
				f.job("safe", 1, safe).job("low", 1, newPod("low-0", "b", "cpu=4")).job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			},
			want: "high-0:Pipelined@b low-0:Releasing@b safe-0:Running@a",
		},
		"a node is passed over if one of two necessary victims has the same priority": {
			build: func(f *fixture) {
				f.job("equal", 10, newPod("equal-0", "a", "cpu=3 memory=20Gi")).job("low", 1, newPod("low-0", "a", "cpu=1"), newPod("low-1", "b", "cpu=4"))
				f.job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			},
			want: "equal-0:Running@a high-0:Pipelined@b low-0:Running@a low-1:Releasing@b",
		},
		"no pod is evicted if that is so on all nodes": {
			build: func(f *fixture) {
				f.job("equal", 10, newPod("equal-0", "a", "cpu=3"), newPod("equal-1", "b", "cpu=3")).job("low", 1, newPod("low-0", "a", "cpu=1"), newPod("low-1", "b", "cpu=1"))
				f.job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			},
			want: "equal-0:Running@a equal-1:Running@b high-0:Pending low-0:Running@a low-1:Running@b",
		},
		"no pod is evicted for one of the same job either, because preemption within a job is not undone": {
			build: func(f *fixture) {
				low, equal, high := newPod("j-low", "a", "cpu=1"), newPod("j-equal", "a", "cpu=3"), newPod("j-high", "", "cpu=2")
				f.job("j", 5, low, equal, high).jobIn("other", "o", 1, newPod("other-0", "b", "cpu=4"))
				low.Spec.Priority, equal.Spec.Priority, high.Spec.Priority = ptr.To[int32](1), ptr.To[int32](10), ptr.To[int32](10)
				f.PodGroups[0].Spec.MinMember = 3
			},
			want: "j-equal:Running@a j-high:Pending j-low:Running@a other-0:Running@b",
		},
		"a node with victims of the same job only does not end the search among other jobs": {
			build: func(f *fixture) {
				low, high := newPod("j-low", "a", "cpu=4 memory=20Gi"), newPod("j-high", "", "cpu=2 memory=1Gi")
				f.job("j", 5, low, high).job("low", 1, newPod("low-0", "b", "cpu=4"))
				low.Spec.Priority, high.Spec.Priority = ptr.To[int32](1), ptr.To[int32](10)
				f.PodGroups[0].Spec.MinMember = 2
			},
			want: "j-high:Pipelined@b j-low:Running@a low-0:Releasing@b",
		},
		"a pod of the same job with lower priority is evicted": {
			build: func(f *fixture) {
				low, high := newPod("j-low", "a", "cpu=4 memory=20Gi"), newPod("j-high", "", "cpu=2 memory=1Gi")
				f.job("j", 5, low, high).jobIn("other", "o", 1, newPod("other-0", "b", "cpu=4"))
				low.Spec.Priority, high.Spec.Priority = ptr.To[int32](1), ptr.To[int32](10)
				f.PodGroups[0].Spec.MinMember = 2
			},
			want: "j-high:Pipelined@a j-low:Releasing@a other-0:Running@b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for mode, actions := range map[string][]conf.Configuration{"by resources": nil, "with topology awareness": topologyAware} {
				t.Run(mode, func(t *testing.T) {
					for range 30 {
						f := twoNodes()
						f.actions = actions
						if c.args != nil {
							f.args = c.args
						}
						c.build(f)
						f.open(t).preempt()
						if c.random && f.task("high-0").Status == api.Pending && !strings.Contains(f.places(), "Releasing") {
							framework.CleanupPluginBuilders()
							continue
						}
						f.expectPlaces(t, c.want)
						return
					}
					t.Error("the pod was never given a node")
				})
			}
		})
	}
}

// Another plugin refuses node a even after evictions. That plugin comes after this one.
func TestNoPodIsPreemptedOnANodeThatAnotherPluginRefuses(t *testing.T) {
	for mode, actions := range map[string][]conf.Configuration{"by resources": nil, "with topology awareness": topologyAware} {
		t.Run(mode, func(t *testing.T) {
			f := twoNodes()
			f.actions = actions
			f.job("low", 1, newPod("low-0", "a", "cpu=4 memory=20Gi"), newPod("low-1", "b", "cpu=4")).job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			f.open(t).guard("")
			f.session.AddPredicateFn("guard", func(task *api.TaskInfo, node *api.NodeInfo) error {
				if node.Name == "a" {
					return api.NewFitErrWithStatus(task, node, &api.Status{Code: api.UnschedulableAndUnresolvable, Reason: "affinity"})
				}
				return nil
			})
			f.preempt().expectPlaces(t, "high-0:Pipelined@b low-0:Running@a low-1:Releasing@b")
		})
	}
}

// The order of the nodes is random.
func TestReclaimFindsTheNodeAndThePodsThatHelp(t *testing.T) {
	for name, c := range map[string]struct {
		build func(*fixture)
		want  string
	}{
		"the next node is tried if no single pod is enough": {
			build: func(f *fixture) {
				f.jobIn("other", "train", 0, newPod("train-0", "a", "cpu=2 nvidia.com/gpu=8"), newPod("train-1", "a", "cpu=1")).job("mine", 0, newPod("mine-0", "a", "cpu=3"))
				f.jobIn("other", "small", 0, newPod("batch-0", "b", "cpu=1")).jobIn("other", "batch", 0, newPod("batch-1", "b", "cpu=3")).job("web", 0, newPod("web-0", "", "cpu=3"))
			},
			want: "batch-0:Running@b batch-1:Releasing@b mine-0:Running@a train-0:Running@a train-1:Running@a web-0:Pipelined@b",
		},
		"a node full of the queue's own pods is passed over": {
			build: func(f *fixture) {
				f.job("mine", 0, newPod("mine-0", "a", "cpu=4"), newPod("mine-1", "b", "cpu=1")).jobIn("other", "train", 0, newPod("train-0", "a", "cpu=1 nvidia.com/gpu=8"))
				f.jobIn("other", "small", 0, newPod("batch-1", "b", "cpu=1")).jobIn("other", "batch", 0, newPod("batch-0", "b", "cpu=2")).job("web", 0, newPod("web-0", "", "cpu=2"))
			},
			want: "batch-0:Releasing@b batch-1:Running@b mine-0:Running@a mine-1:Running@b train-0:Running@a web-0:Pipelined@b",
		},
		"no pod is evicted if two would be necessary": {
			build: func(f *fixture) {
				f.jobIn("other", "batch", 0, newPod("batch-0", "a", "cpu=2"), newPod("batch-1", "a", "cpu=2"), newPod("batch-2", "b", "cpu=2"), newPod("batch-3", "b", "cpu=2"))
				f.job("web", 0, newPod("web-0", "", "cpu=3"))
			},
			want: "batch-0:Running@a batch-1:Running@a batch-2:Running@b batch-3:Running@b web-0:Pending",
		},
		"pods that are already releasing count as gone": {
			build: func(f *fixture) {
				releasing := newPod("batch-0", "a", "cpu=1")
				releasing.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
				f.jobIn("other", "batch", 0, releasing, newPod("batch-1", "a", "cpu=2"), newPod("batch-2", "a", "cpu=1"), newPod("batch-3", "b", "cpu=1")).job("mine", 0, newPod("mine-0", "b", "cpu=3"))
				f.job("web", 0, newPod("web-0", "", "cpu=3"))
			},
			want: "batch-0:Releasing@a batch-1:Releasing@a batch-2:Running@a batch-3:Running@b mine-0:Running@b web-0:Pipelined@a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				f := twoNodes()
				c.build(f)
				for _, group := range f.PodGroups {
					if group.Spec.Queue == "other" {
						group.Spec.MinMember = 0 // all pods may be evicted
					}
				}
				f.open(t).reclaim().expectPlaces(t, c.want)
				framework.CleanupPluginBuilders()
			}
		})
	}
}

func TestReclaimSparesQueuesThatCannotBeReclaimedFrom(t *testing.T) {
	f := twoNodes()
	f.Queues[1].Spec.Reclaimable = ptr.To(false)
	f.jobIn("other", "batch", 0, newPod("batch-0", "a", "cpu=4"), newPod("batch-1", "b", "cpu=4")).job("web", 0, newPod("web-0", "", "cpu=2"))
	f.open(t).reclaim().expectPlaces(t, "batch-0:Running@a batch-1:Running@b web-0:Pending")
	f.opened.current = reclaiming
	err := f.opened.predicate(f.task("web-0"), f.session.Nodes["a"])
	var fit *api.FitError
	if !errors.As(err, &fit) || !fit.Status.ContainsUnschedulableAndUnresolvable() {
		t.Errorf("the predicate says %v", err)
	}
}
