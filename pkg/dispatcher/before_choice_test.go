// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"testing"
	"time"
)

// TestBeforeClustersAreChosenOthersWaitForRoom: a workload was granted room for one cluster, and Karmada's scheduler may choose another one, too, by then.
func TestBeforeClustersAreChosenOthersWaitForRoom(t *testing.T) {
	for name, happens := range map[string]func(*world){
		"a cluster comes":          func(w *world) { w.cluster("m5") },
		"the policy becomes wider": func(w *world) { w.sendTo(web, "m1", "m2"); w.detect(web) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newQueueWorld(t, 1, 3, true)
			w.deploy("web", 2, "m1")
			w.sendTo(web, "m1", "m5")
			w.detect(web)
			w.decide()
			if granted := coresGranted(w.stateOf(w.binding(web)).Grant); granted != 2 {
				t.Fatalf("%d cores are granted, want those of one cluster", granted)
			}
			happens(w)
			w.sleep(time.Second)
			w.decide()
			w.pass(60)
			if rb := w.binding(web); w.runs() != 2 || coresGranted(w.stateOf(rb).Grant) != 2 {
				t.Errorf("%d cores run, and the queue may have 3: %v %v", w.runs(), rb.Spec.Clusters, rb.Annotations)
			}
			w.queue("c", "root", 4)
			w.pass(60)
			if runs := w.runs(); runs != 4 {
				t.Errorf("%d cores run, and the queue may have 4", runs)
			}
		})
	}
}
