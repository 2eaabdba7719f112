// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"strings"
	"testing"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// TestNoOrderOfChangesRunsMoreThanIsCharged makes users change workloads while earlier changes are on their way to the clusters.
func TestNoOrderOfChangesRunsMoreThanIsCharged(t *testing.T) {
	oneCore := func(*batchv1alpha1.TaskSpec) {}
	for name, tc := range map[string]struct {
		cores, runs int64
		act         func(*world)
	}{
		"a policy adds a cluster, and the workload shrinks": {4, 4, func(w *world) {
			w.train("train", 4, "m1", oneCore)
			w.pass(20)
			w.sendTo("ns/train-job", "m1", "m3")
			w.pass(1)
			w.scaleTo(jobs, "ns/train", 2)
		}},
		"pods that keep their template get smaller ones beside them": {8, 8, func(w *world) {
			w.train("train", 2, "m1", func(task *batchv1alpha1.TaskSpec) { task.Template = podsOf("c", 4) })
			w.pass(20)
			w.requestOf(jobs, "ns/train", 4, 2)
		}},
		"pods get smaller, and a policy adds clusters": {9, 6, func(w *world) {
			w.train("train", 3, "m1", func(task *batchv1alpha1.TaskSpec) { task.Template = podsOf("c", 2) })
			w.pass(20)
			w.requestOf(jobs, "ns/train", 3, 1)
			w.pass(30)
			w.sendTo("ns/train-job", "m1", "m2", "m3")
		}},
		"a policy adds a cluster during an eviction": {4, 4, func(w *world) {
			w.deploy("web", 4, "m1")
			w.pass(20)
			w.evict("ns/web-deployment", "m1", "m2", 4)
			w.pass(5)
			w.sendTo("ns/web-deployment", "m2", "m3")
		}},
		"a policy adds two clusters during an eviction": {4, 4, func(w *world) {
			w.deploy("web", 4, "m1")
			w.pass(20)
			w.evict("ns/web-deployment", "m1", "m2", 4)
			w.pass(5)
			w.sendTo("ns/web-deployment", "m1", "m2", "m3")
			w.pass(5)
			w.sendTo("ns/web-deployment", "m2", "m3", "m4")
		}},
		"it moves twice, and clusters are away": {4, 4, func(w *world) {
			w.deploy("web", 4, "m1")
			w.pass(20)
			w.reach("m1", false)
			w.sendTo("ns/web-deployment", "m2")
			w.pass(20)
			w.reach("m2", false)
			w.sendTo("ns/web-deployment", "m3")
		}},
		"it shrinks and moves, and the cluster has not carried that out": {8, 4, func(w *world) {
			w.deploy("web", 4, "m1")
			w.pass(20)
			w.reach("m1", false)
			w.pass(1)
			w.scaleTo(deployments, "ns/web", 1)
			w.pass(2)
			w.sendTo("ns/web-deployment", "m2")
			w.pass(30)
			w.scaleTo(deployments, "ns/web", 4)
		}},
		"it shrinks, its cluster evicts it and has not carried that out": {8, 4, func(w *world) {
			w.deploy("web", 4, "m1")
			w.pass(20)
			w.reach("m1", false)
			w.pass(1)
			w.scaleTo(deployments, "ns/web", 1)
			w.pass(2)
			w.evict("ns/web-deployment", "m1", "m2", 1)
			w.pass(30)
			w.scaleTo(deployments, "ns/web", 4)
		}},
		"its only cluster evicts it, and its policy then asks for two": {4, 0, func(w *world) {
			w.deploy("web", 4, "m1")
			w.pass(20)
			w.evict("ns/web-deployment", "m1", "", 4)
			w.pass(3)
			w.sendTo("ns/web-deployment", "m2", "m3")
		}},
	} {
		for seed := range uint64(20) {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				w := newQueueWorld(t, seed, tc.cores, seed%2 == 0)
				tc.act(w)
				for range 150 {
					w.pass(1)
					w.checkRuns()
					if t.Failed() {
						t.Fatal(strings.Join(w.log[max(0, len(w.log)-30):], "\n"))
					}
				}
				w.settled()
				if runs, charged := w.runs(), w.granted()["c"]; runs != tc.runs || charged > tc.cores {
					t.Errorf("%d cores run and %d are charged in the end, want %d to run, and the queue may have %d", runs, charged, tc.runs, tc.cores)
				}
			})
		}
	}
}
