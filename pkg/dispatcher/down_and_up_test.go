// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"testing"
	"time"
)

// TestDownAndUpAtOnce is about a Deployment that is scaled down, and up again before Karmada has written the lower number into the binding. The pods that it
// makes again must not run beside those that end.
func TestDownAndUpAtOnce(t *testing.T) {
	for _, divided := range []bool{false, true} {
		t.Run(fmt.Sprint("divided: ", divided), func(t *testing.T) {
			w := newQueueWorld(t, 1, 4, true)
			w.deploy("web", 4, "m1")
			if divided {
				w.divideTo("ns/web-deployment", "m1")
			}
			w.pass(60)
			w.scaleTo(deployments, "ns/web", 2)
			w.storeUpdate()
			w.scaleTo(deployments, "ns/web", 4) // admitted, and not stored yet
			w.expectAtMost(4, 1)
			w.storeUpdate()
			w.expectAtMost(4, 20)
			w.pass(120)
			if runs := w.runs(); runs != 4 {
				t.Errorf("%d cores run in the end, and the Deployment has 4", runs)
			}
		})
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

// expectAtMost lets Karmada and the dispatcher work, and expects that no more cores ever run, and end.
func (w *world) expectAtMost(cores int64, times int) {
	w.t.Helper()
	for range times {
		w.sleep(100 * time.Millisecond)
		w.reconcile()
		if runs := w.runs() + w.ends(); runs > cores {
			w.t.Fatalf("%d cores run or end, and the queue may have %d", runs, cores)
		}
		w.decide()
	}
}
