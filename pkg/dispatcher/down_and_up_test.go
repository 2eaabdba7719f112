// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// TestDownAndUpAtOnce is about a Deployment that is scaled down, and up again before its cluster knows, wherever Karmada is by then. The pods that it makes again
// must not run beside those that end.
func TestDownAndUpAtOnce(t *testing.T) {
	const web = "ns/web-deployment"
	for name, karmada := range map[string]func(w *world){
		"nobody has noticed": func(w *world) {},
		"the binding knows":  func(w *world) { w.detect(web) },
		"its scheduler knows": func(w *world) {
			w.detect(web)
			w.see(web, true)
			w.schedule(web)
		},
	} {
		for _, divided := range []bool{false, true} {
			if divided && name == "its scheduler knows" {
				continue // a limit that docs/multicluster.md names
			}
			t.Run(fmt.Sprint(name, ", divided: ", divided), func(t *testing.T) {
				w := newQueueWorld(t, 1, 4, true)
				w.deploy("web", 4, "m1")
				if divided {
					w.divideTo(web, "m1")
				}
				w.pass(60)
				w.scaleTo(deployments, "ns/web", 2)
				w.storeUpdate()
				karmada(w)
				w.scaleTo(deployments, "ns/web", 4) // admitted, and not stored yet
				w.expectAtMost(4, 1)
				w.storeUpdate()
				w.expectAtMost(4, 100)
				w.pass(120)
				if runs := w.runs(); runs != 4 {
					t.Errorf("%d cores run in the end, and the Deployment has 4", runs)
				}
			})
		}
	}
}

// TestMoveAfterAClusterIsBack is about a Deployment that shrinks and gets another cluster, while the webhook still takes its cluster for away. What clusters that
// are away keep must not hide that pods end.
func TestMoveAfterAClusterIsBack(t *testing.T) {
	w := newQueueWorld(t, 1, 4, true)
	w.deploy("web", 4, "m1")
	w.divideTo("ns/web-deployment", "m1")
	w.pass(60)
	w.scaleTo(deployments, "ns/web", 2)
	w.storeUpdate()
	w.reconcile()
	w.reach("m1", false)
	w.replicas[0].showAll()
	w.reach("m1", true)
	w.divideTo("ns/web-deployment", "m1", "m2")
	w.detect("ns/web-deployment")
	w.expectAtMost(4, 5)
}

// TestToZeroWhileGrowthIsHeld tests that nothing is charged for a workload whose replicas are divided, and that is scaled to zero while its growth is held.
func TestToZeroWhileGrowthIsHeld(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newQueueWorld(t, seed, 6, seed%2 == 0)
			w.deploy("web", 6, "m1")
			w.divideTo(web, "m1", "m2")
			w.pass(60)
			w.scaleTo(deployments, "ns/web", 7)
			w.pass(5)
			w.scaleTo(deployments, "ns/web", 0)
			w.pass(240)
			if hold := w.stateOf(w.binding(web)).Hold; hold != nil || w.runs() != 0 || w.charge(web) != 0 {
				t.Errorf("%d cores run, and %d are charged, want none; the hold is %v", w.runs(), w.charge(web), hold)
			}
		})
	}
}

// expectAtMost lets Karmada and the dispatcher work, and expects that no more cores ever run, and end. Clusters get what a binding says before Karmada's scheduler
// has seen it.
func (w *world) expectAtMost(cores int64, times int) {
	w.t.Helper()
	for range times {
		w.sleep(100 * time.Millisecond)
		for _, key := range w.keys() {
			w.see(key, false)
			w.dispatch(key)
		}
		for _, work := range slices.Sorted(maps.Keys(w.store[works])) {
			w.execute(work)
		}
		w.reconcile()
		if runs := w.runs() + w.ends(); runs > cores {
			w.t.Fatalf("%d cores run or end, and the queue may have %d", runs, cores)
		}
		w.decide()
	}
}
