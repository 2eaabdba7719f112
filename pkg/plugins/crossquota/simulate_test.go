// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSimulation(t *testing.T) {
	releasing := newPod("releasing-0", "gpu", "cpu=1")
	releasing.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	f := newFixture(gpuArgs("quota.cpu", 4)).node("gpu", eightCores).node("plain", "cpu=8")
	f.job("low", 1, newPod("low-0", "gpu", "cpu=2"), newPod("low-1", "gpu", "cpu=2"), releasing)
	f.job("train", 1, newPod("train-0", "gpu", "cpu=1 nvidia.com/gpu=8"))
	f.job("high", 10, newPod("high-0", "", "cpu=2"), newPod("gpu-0", "", "cpu=8 nvidia.com/gpu=1")).open(t)
	state := f.session.GetCycleState(f.task("high-0").UID)

	// The steps run at the same time, each on its own copy of a node.
	var wait sync.WaitGroup
	for name, c := range map[string]struct {
		pod, node string
		removed   []string
		fits      bool
	}{
		"no pod is removed":                    {pod: "high-0", node: "gpu"},
		"a pod that uses the quota is removed": {pod: "high-0", node: "gpu", removed: []string{"low-0"}, fits: true}, // the releasing pod does not count
		"a GPU pod is removed":                 {pod: "high-0", node: "gpu", removed: []string{"train-0"}},
		"all pods are removed":                 {pod: "high-0", node: "gpu", removed: []string{"low-0", "low-1", "releasing-0"}, fits: true},
		"the pod uses a GPU":                   {pod: "gpu-0", node: "gpu", fits: true},
		"the node has no GPU":                  {pod: "high-0", node: "plain", fits: true},
		"a releasing pod is removed":           {pod: "high-0", node: "gpu", removed: []string{"releasing-0"}},
	} {
		// Outside of the goroutine, because upstream's Clone writes to the tasks of the node.
		node, task := f.session.Nodes[c.node].Clone(), f.task(c.pod)
		wait.Go(func() {
			for range 50 {
				for _, removed := range c.removed {
					if err := node.RemoveTask(f.task(removed)); err != nil {
						t.Error(err)
					}
				}
				if err := f.session.SimulatePredicateFn(t.Context(), state, task, node); (err == nil) != c.fits {
					t.Errorf("%s: the pod fits: %t, want %t: %v", name, err == nil, c.fits, err)
				}
				for _, removed := range c.removed {
					if err := node.AddTask(f.task(removed).Clone()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	if got := f.opened.accounts["gpu"].used[0]; got != 5000 {
		t.Errorf("%d is used after the simulations, want 5000", got)
	}
}
