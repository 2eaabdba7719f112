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

// twoNodes has nodes a and b with a quota of 4 cores each. A pod that holds memory, too, makes its
// node the one that is tried first.
func twoNodes() *scene {
	return newScene(gpuArgs("quota.cpu", 4, argQuotaResources, "cpu,memory")).node("a", eightCores).node("b", eightCores).queue("other")
}

func labelledPod(pod *corev1.Pod, key, value string) *corev1.Pod {
	pod.Labels = map[string]string{key: value}
	return pod
}

func TestPreemptionFindsTheNodeAndThePodsThatHelp(t *testing.T) {
	for name, c := range map[string]struct {
		args  framework.Arguments
		build func(*scene)
		want  string
		// random is set where there are several queues. The preempt action turns to them in any
		// order, and tries a pod in its own queue's turn only if that comes first.
		random bool
	}{
		"a GPU pod survives although it is less important": {
			build: func(s *scene) {
				s.job("train", 1, newPod("train-0", "a", "cpu=2 nvidia.com/gpu=8")).job("low", 2, newPod("low-0", "a", "cpu=4"), newPod("low-1", "b", "cpu=1"))
				s.job("equal", 10, newPod("equal-0", "b", "cpu=3")).job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			},
			want: "equal-0:Running@b high-0:Pipelined@a low-0:Releasing@a low-1:Running@b train-0:Running@a",
		},
		"a pod outside the selector survives although it is less important": {
			args: gpuArgs("quota.cpu", 4, argLabelSelector, map[any]any{"matchLabels": map[any]any{"q": "y"}}),
			build: func(s *scene) {
				s.job("sys", 1, newPod("sys-0", "a", "cpu=2")).job("low", 2, labelledPod(newPod("low-0", "a", "cpu=4"), "q", "y"))
				s.job("equal", 10, labelledPod(newPod("equal-0", "b", "cpu=4"), "q", "y")).job("high", 10, labelledPod(newPod("high-0", "", "cpu=2"), "q", "y"))
			},
			want: "equal-0:Running@b high-0:Pipelined@a low-0:Releasing@a sys-0:Running@a",
		},
		"a node full of another queue's pods is passed over": {
			build: func(s *scene) {
				s.jobIn("other", "o", 1, newPod("other-0", "a", "cpu=4 memory=20Gi")).job("low", 1, newPod("low-0", "b", "cpu=4"))
				s.job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			},
			want:   "high-0:Pipelined@b low-0:Releasing@b other-0:Running@a",
			random: true,
		},
		"a node that was filled in this cycle is passed over": {
			build: func(s *scene) {
				s.job("fill", 20, newPod("fill-0", "", "cpu=4 memory=20Gi")).job("low", 1, newPod("low-0", "b", "cpu=4"))
				s.job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			},
			want: "fill-0:Binding@a high-0:Pipelined@b low-0:Releasing@b",
		},
		"a node full of the pod's own siblings is passed over": {
			build: func(s *scene) {
				s.job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"), newPod("high-1", "a", "cpu=4 memory=20Gi"))
				s.job("low", 1, newPod("low-0", "b", "cpu=4"))
				s.PodGroups[0].Spec.MinMember = 2
			},
			want: "high-0:Pipelined@b high-1:Running@a low-0:Releasing@b",
		},
		"a node full of what cannot be preempted is passed over": {
			build: func(s *scene) {
				safe := newPod("safe-0", "a", "cpu=4 memory=20Gi")
				safe.Annotations["volcano.sh/preemptable"] = "false"
				s.job("safe", 1, safe).job("low", 1, newPod("low-0", "b", "cpu=4")).job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			},
			want: "high-0:Pipelined@b low-0:Releasing@b safe-0:Running@a",
		},
		"a node where one of two victims is as important is left as it is": {
			build: func(s *scene) {
				s.job("equal", 10, newPod("equal-0", "a", "cpu=3 memory=20Gi")).job("low", 1, newPod("low-0", "a", "cpu=1"), newPod("low-1", "b", "cpu=4"))
				s.job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			},
			want: "equal-0:Running@a high-0:Pipelined@b low-0:Running@a low-1:Releasing@b",
		},
		"nobody leaves where that is so on all nodes": {
			build: func(s *scene) {
				s.job("equal", 10, newPod("equal-0", "a", "cpu=3"), newPod("equal-1", "b", "cpu=3")).job("low", 1, newPod("low-0", "a", "cpu=1"), newPod("low-1", "b", "cpu=1"))
				s.job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			},
			want: "equal-0:Running@a equal-1:Running@b high-0:Pending low-0:Running@a low-1:Running@b",
		},
		"nobody leaves for a sibling either, what is preempted within a job being final": {
			build: func(s *scene) {
				low, equal, high := newPod("j-low", "a", "cpu=1"), newPod("j-equal", "a", "cpu=3"), newPod("j-high", "", "cpu=2")
				s.job("j", 5, low, equal, high).jobIn("other", "o", 1, newPod("other-0", "b", "cpu=4"))
				low.Spec.Priority, equal.Spec.Priority, high.Spec.Priority = ptr.To[int32](1), ptr.To[int32](10), ptr.To[int32](10)
				s.PodGroups[0].Spec.MinMember = 3
			},
			want: "j-equal:Running@a j-high:Pending j-low:Running@a other-0:Running@b",
		},
		"a node where only siblings could leave does not end the search among other jobs": {
			build: func(s *scene) {
				low, high := newPod("j-low", "a", "cpu=4 memory=20Gi"), newPod("j-high", "", "cpu=2 memory=1Gi")
				s.job("j", 5, low, high).job("low", 1, newPod("low-0", "b", "cpu=4"))
				low.Spec.Priority, high.Spec.Priority = ptr.To[int32](1), ptr.To[int32](10)
				s.PodGroups[0].Spec.MinMember = 2
			},
			want: "j-high:Pipelined@b j-low:Running@a low-0:Releasing@b",
		},
		"a less important sibling leaves": {
			build: func(s *scene) {
				low, high := newPod("j-low", "a", "cpu=4 memory=20Gi"), newPod("j-high", "", "cpu=2 memory=1Gi")
				s.job("j", 5, low, high).jobIn("other", "o", 1, newPod("other-0", "b", "cpu=4"))
				low.Spec.Priority, high.Spec.Priority = ptr.To[int32](1), ptr.To[int32](10)
				s.PodGroups[0].Spec.MinMember = 2
			},
			want: "j-high:Pipelined@a j-low:Releasing@a other-0:Running@b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for mode, actions := range map[string][]conf.Configuration{"by resources": nil, "with topology awareness": topologyAware} {
				t.Run(mode, func(t *testing.T) {
					for range 30 {
						s := twoNodes()
						s.actions = actions
						if c.args != nil {
							s.args = c.args
						}
						c.build(s)
						s.open(t).preempt()
						if c.random && s.task("high-0").Status == api.Pending && !strings.Contains(s.places(), "Releasing") {
							framework.CleanupPluginBuilders()
							continue
						}
						s.expectPlaces(t, c.want)
						return
					}
					t.Error("the pod was never given a node")
				})
			}
		})
	}
}

// The pod cannot be on node a, whatever is evicted there. The plugin is asked before the one that
// knows.
func TestNobodyIsPreemptedWhereAnotherPluginRefuses(t *testing.T) {
	for mode, actions := range map[string][]conf.Configuration{"by resources": nil, "with topology awareness": topologyAware} {
		t.Run(mode, func(t *testing.T) {
			s := twoNodes()
			s.actions = actions
			s.job("low", 1, newPod("low-0", "a", "cpu=4 memory=20Gi"), newPod("low-1", "b", "cpu=4")).job("high", 10, newPod("high-0", "", "cpu=2 memory=1Gi"))
			s.open(t).guard("")
			s.session.AddPredicateFn("guard", func(task *api.TaskInfo, node *api.NodeInfo) error {
				if node.Name == "a" {
					return api.NewFitErrWithStatus(task, node, &api.Status{Code: api.UnschedulableAndUnresolvable, Reason: "affinity"})
				}
				return nil
			})
			s.preempt().expectPlaces(t, "high-0:Pipelined@b low-0:Running@a low-1:Releasing@b")
		})
	}
}

// Which of the nodes is tried first, is left to chance.
func TestReclaimFindsTheNodeAndThePodsThatHelp(t *testing.T) {
	for name, c := range map[string]struct {
		build func(*scene)
		want  string
	}{
		"the next node is tried where no pod is enough": {
			build: func(s *scene) {
				s.jobIn("other", "train", 0, newPod("train-0", "a", "cpu=2 nvidia.com/gpu=8"), newPod("train-1", "a", "cpu=1")).job("mine", 0, newPod("mine-0", "a", "cpu=3"))
				s.jobIn("other", "small", 0, newPod("batch-0", "b", "cpu=1")).jobIn("other", "batch", 0, newPod("batch-1", "b", "cpu=3")).job("web", 0, newPod("web-0", "", "cpu=3"))
			},
			want: "batch-0:Running@b batch-1:Releasing@b mine-0:Running@a train-0:Running@a train-1:Running@a web-0:Pipelined@b",
		},
		"a node full of the queue's own pods is passed over": {
			build: func(s *scene) {
				s.job("mine", 0, newPod("mine-0", "a", "cpu=4"), newPod("mine-1", "b", "cpu=1")).jobIn("other", "train", 0, newPod("train-0", "a", "cpu=1 nvidia.com/gpu=8"))
				s.jobIn("other", "small", 0, newPod("batch-1", "b", "cpu=1")).jobIn("other", "batch", 0, newPod("batch-0", "b", "cpu=2")).job("web", 0, newPod("web-0", "", "cpu=2"))
			},
			want: "batch-0:Releasing@b batch-1:Running@b mine-0:Running@a mine-1:Running@b train-0:Running@a web-0:Pipelined@b",
		},
		"nobody leaves where two would have to": {
			build: func(s *scene) {
				s.jobIn("other", "batch", 0, newPod("batch-0", "a", "cpu=2"), newPod("batch-1", "a", "cpu=2"), newPod("batch-2", "b", "cpu=2"), newPod("batch-3", "b", "cpu=2"))
				s.job("web", 0, newPod("web-0", "", "cpu=3"))
			},
			want: "batch-0:Running@a batch-1:Running@a batch-2:Running@b batch-3:Running@b web-0:Pending",
		},
		"what leaves already counts": {
			build: func(s *scene) {
				leaving := newPod("batch-0", "a", "cpu=1")
				leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
				s.jobIn("other", "batch", 0, leaving, newPod("batch-1", "a", "cpu=2"), newPod("batch-2", "a", "cpu=1"), newPod("batch-3", "b", "cpu=1")).job("mine", 0, newPod("mine-0", "b", "cpu=3"))
				s.job("web", 0, newPod("web-0", "", "cpu=3"))
			},
			want: "batch-0:Releasing@a batch-1:Releasing@a batch-2:Running@a batch-3:Running@b mine-0:Running@b web-0:Pipelined@a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				s := twoNodes()
				c.build(s)
				for _, group := range s.PodGroups {
					if group.Spec.Queue == "other" {
						group.Spec.MinMember = 0 // all may go
					}
				}
				s.open(t).reclaim().expectPlaces(t, c.want)
				framework.CleanupPluginBuilders()
			}
		})
	}
}

func TestReclaimSparesQueuesThatCannotBeReclaimedFrom(t *testing.T) {
	s := twoNodes()
	s.Queues[1].Spec.Reclaimable = ptr.To(false)
	s.jobIn("other", "batch", 0, newPod("batch-0", "a", "cpu=4"), newPod("batch-1", "b", "cpu=4")).job("web", 0, newPod("web-0", "", "cpu=2"))
	s.open(t).reclaim().expectPlaces(t, "batch-0:Running@a batch-1:Running@b web-0:Pending")
	s.opened.at = reclaiming
	err := s.opened.predicate(s.task("web-0"), s.session.Nodes["a"])
	var fit *api.FitError
	if !errors.As(err, &fit) || !fit.Status.ContainsUnschedulableAndUnresolvable() {
		t.Errorf("the predicate says %v", err)
	}
}
