// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"testing"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// TestAWorkloadThatMovesGrowsOnlyWithRoom: while a workload moves, its queue is charged for both clusters, whether there is room or not. What it then asks
// for must not take the room that it leaves.
func TestAWorkloadThatMovesGrowsOnlyWithRoom(t *testing.T) {
	for name, grow := range map[string]func(*world){
		"is scaled up":              func(w *world) { w.scaleTo(deployments, "ns/web", 8) },
		"is scaled up beyond both":  func(w *world) { w.scaleTo(deployments, "ns/web", 12) },
		"gets another cluster":      func(w *world) { w.sendTo("ns/web-deployment", "m2", "m3") },
		"is scaled up, and returns": func(w *world) { w.scaleTo(deployments, "ns/web", 8); w.sendTo("ns/web-deployment", "m1") },
	} {
		for seed := range uint64(10) {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				w := newQueueWorld(t, seed, 4, seed%2 == 0)
				w.deploy("web", 4, "m1")
				w.settled()
				w.sendTo("ns/web-deployment", "m2")
				for rounds := 0; w.charge("ns/web-deployment") < 8 && rounds < 100; rounds++ {
					w.round()
				}
				if charged := w.charge("ns/web-deployment"); charged != 8 {
					t.Fatalf("%d cores are charged while it moves, want 8", charged)
				}
				grow(w)
				w.settled()
				if runs := w.runs(); runs != 4 || w.granted()["c"] != 4 {
					t.Errorf("%d cores run and %d are charged, and the queue may have 4: %v", runs, w.granted()["c"], w.binding("ns/web-deployment").Annotations)
				}
				w.queue("c", "root", 24)
				w.settled()
				if runs := w.runs(); runs != w.granted()["c"] || runs < 8 {
					t.Errorf("%d cores run and %d are charged when there is room: %v", runs, w.granted()["c"], w.binding("ns/web-deployment").Annotations)
				}
			})
		}
	}
}

// TestAWorkloadThatGrowsJustAfterItMovedDoesNotWaitForRoomInBothClusters: the dispatcher has not charged the move when the growth is held.
func TestAWorkloadThatGrowsJustAfterItMovedDoesNotWaitForRoomInBothClusters(t *testing.T) {
	for _, looks := range []bool{false, true} {
		w := newQueueWorld(t, 1, 6, looks)
		w.train("train", 4, "m1", func(*batchv1alpha1.TaskSpec) {})
		w.settled()
		w.sendTo("ns/train-job", "m2")
		w.reconcile()
		w.scaleTo(jobs, "ns/train", 5)
		w.settled()
		if state := w.stateOf(w.binding("ns/train-job")); state.Hold != nil || w.runs() != 5 || w.granted()["c"] != 5 {
			t.Errorf("%d cores run and %d are charged, want 5, and the hold is %+v", w.runs(), w.granted()["c"], state.Hold)
		}
	}
}

// TestAWorkloadThatGrowsAndMovesThereAndBackKeepsTheChargeForIt: the second move waits until the pods of the first one have ended. Nobody else gets the room
// for it meanwhile, unless the queue has too little for both clusters.
func TestAWorkloadThatGrowsAndMovesThereAndBackKeepsTheChargeForIt(t *testing.T) {
	for _, looks := range []bool{true, false} {
		w := newQueueWorld(t, 1, 8, looks)
		w.deploy("other", 2, "m4")
		w.deploy("web", 2, "m1")
		w.pass(20)
		w.sendTo("ns/web-deployment", "m2")
		w.pass(3)
		w.deploy("next", 3, "m3")
		w.pass(2)
		w.sendTo("ns/web-deployment", "m1")
		w.scaleTo(deployments, "ns/web", 3)
		for range 200 {
			w.pass(1)
			if runs := w.runs() + w.ends(); runs > 8 || w.granted()["c"] > 8 {
				t.Fatalf("%d cores run at once and %d are charged, and the queue may have 8: %v", runs, w.granted()["c"], w.binding("ns/web-deployment").Annotations)
			}
		}
		if runs := w.runs(); runs != 8 || w.granted()["c"] != 8 {
			t.Errorf("%d cores run in the end, and %d are charged, want 8", runs, w.granted()["c"])
		}
	}
}
