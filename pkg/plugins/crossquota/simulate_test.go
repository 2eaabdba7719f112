package crossquota

import (
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSimulation(t *testing.T) {
	leaving := newPod("leaving-0", "gpu", "cpu=1")
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	s := newScene(gpuArgs("quota.cpu", 4)).node("gpu", eightCores).node("plain", "cpu=8")
	s.job("low", 1, newPod("low-0", "gpu", "cpu=2"), newPod("low-1", "gpu", "cpu=2"), leaving)
	s.job("train", 1, newPod("train-0", "gpu", "cpu=1 nvidia.com/gpu=8"))
	s.job("high", 10, newPod("high-0", "", "cpu=2"), newPod("gpu-0", "", "cpu=8 nvidia.com/gpu=1")).open(t)
	state := s.session.GetCycleState(s.task("high-0").UID)

	// Each step takes place on a copy of its own, all of them at the same time.
	var wait sync.WaitGroup
	for name, c := range map[string]struct {
		pod, node string
		removed   []string
		fits      bool
	}{
		"nobody has left":                    {pod: "high-0", node: "gpu"},
		"a pod that holds the quota left":    {pod: "high-0", node: "gpu", removed: []string{"low-0"}, fits: true},
		"a GPU pod left":                     {pod: "high-0", node: "gpu", removed: []string{"train-0"}},
		"all have left":                      {pod: "high-0", node: "gpu", removed: []string{"low-0", "low-1", "leaving-0"}, fits: true},
		"the pod uses a GPU":                 {pod: "gpu-0", node: "gpu", fits: true},
		"the node has no GPU":                {pod: "high-0", node: "plain", fits: true},
		"a pod that was leaving anyway left": {pod: "high-0", node: "gpu", removed: []string{"leaving-0"}},
	} {
		// Not in the goroutine: upstream's Clone writes to the tasks of the node that it copies.
		node, task := s.session.Nodes[c.node].Clone(), s.task(c.pod)
		wait.Go(func() {
			for range 50 {
				for _, removed := range c.removed {
					if err := node.RemoveTask(s.task(removed)); err != nil {
						t.Error(err)
					}
				}
				if err := s.session.SimulatePredicateFn(t.Context(), state, task, node); (err == nil) != c.fits {
					t.Errorf("%s: the pod fits: %t, want %t: %v", name, err == nil, c.fits, err)
				}
				for _, removed := range c.removed {
					if err := node.AddTask(s.task(removed).Clone()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	if got := s.opened.accounts["gpu"].used[0]; got != 5000 {
		t.Errorf("%d is used after the simulations, want 5000", got)
	}
}

func TestASimulationDoesNotCountPodsThatAreLeaving(t *testing.T) {
	leaving := newPod("low-0", "gpu", "cpu=4")
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	s := newScene(gpuArgs("quota.cpu", 4)).node("gpu", eightCores).job("low", 1, leaving).job("high", 10, newPod("high-0", "", "cpu=4")).open(t)
	task, node := s.task("high-0"), s.session.Nodes["gpu"]
	if err := s.session.SimulatePredicateFn(t.Context(), s.session.GetCycleState(task.UID), task, node); err != nil {
		t.Errorf("further victims would be taken: %v", err)
	}
	if err := s.session.PredicateFn(task, node); err == nil {
		t.Error("the pod may have the place before it is free")
	}
}
