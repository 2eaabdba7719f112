// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"encoding/json"
	"strings"
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// fill makes Karmada note so much of what a cluster reports that nothing else fits into a binding. A Volcano Job notes each of its phases, and its user
// may abort and resume it any number of times.
func (w *world) fill(key string) {
	rb := w.binding(key).DeepCopy()
	if len(rb.Status.AggregatedStatus) == 0 {
		rb.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", Applied: true}}
	}
	rb.Status.AggregatedStatus[0].AppliedMessage = "-"
	text, err := json.Marshal(rb)
	if err != nil {
		w.t.Fatal(err)
	}
	rb.Status.AggregatedStatus[0].AppliedMessage = strings.Repeat("-", etcdTakes-len(text)-10)
	w.put(bindings, rb)
}

// TestAStatusThatLeavesNoRoomKeepsNothingFromBeingTakenBack: its user would keep for ever what others deserve.
func TestAStatusThatLeavesNoRoomKeepsNothingFromBeingTakenBack(t *testing.T) {
	w := newReclaimWorld(t, 8)
	w.fill("ns/two-deployment")
	w.deployIn("b", "deserves", 4, "m3")
	for range 120 {
		w.busyRound(func() {
			if _, granted := w.has("two"); granted {
				w.fill("ns/two-deployment")
			}
		})
		w.sleep(1e9)
	}
	if _, granted := w.has("deserves"); !granted {
		hold, _ := w.has("two")
		t.Errorf("it waits for two minutes: %s. The other one has the hold %+v", w.says(), hold)
	}
}
