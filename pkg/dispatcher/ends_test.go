// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"errors"
	"testing"
	"time"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// TestAChangeWaitsForPodsThatEnd checks the decisions a number of seconds after the change was held.
func TestAChangeWaitsForPodsThatEnd(t *testing.T) {
	waits := func(w *framework.Workload) {
		w.State.Hold = &binding.Hold{Reason: binding.Growing, Dispatching: true, Ends: true}
		w.State.Grant.Grace = 30
	}
	blind := framework.Left{Err: errors.New("forbidden")}
	for _, tc := range []struct {
		name   string
		change func(*framework.Workload)
		left   map[string]framework.Left
		after  map[int]string
	}{
		{"none end", waits, map[string]framework.Left{"member1": {Generation: "1", Pods: 3}}, map[int]string{2: "", 3: "runs  *"}},
		{"some end", waits, map[string]framework.Left{"member1": {Generation: "1", Pods: 3, Ending: 2}}, map[int]string{4: "", 10: "runs GrowthHeld", 44: "runs GrowthHeld", 45: "runs  *"}},
		{"nobody may look", waits, map[string]framework.Left{"member1": blind}, map[int]string{10: "runs GrowthHeld", 44: "runs GrowthHeld", 45: "runs  *"}},
		{"something is left where it was before", func(w *framework.Workload) {
			waits(w)
			w.Places, w.State.Grant.Clusters, w.State.Grant.Moves = []string{"member0", "member1"}, []string{"member0", "member1"}, true
		}, map[string]framework.Left{"member0": {Generation: "1", Pods: 1}, "member1": {Generation: "1", Pods: 3}}, map[int]string{10: "runs GrowthHeld"}},
		{"what it has left cannot be reached", func(w *framework.Workload) {
			waits(w)
			w.Places, w.State.Grant.Clusters, w.State.Grant.Moves = []string{"away", "member1"}, []string{"away", "member1"}, true
		}, map[string]framework.Left{"away": blind, "member1": {Generation: "1", Pods: 3}}, map[int]string{2: "", 3: "runs  *"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for after, want := range tc.after {
				f := newFixture(t, "")
				f.queue("team", "root", 4)
				f.running("runs", "team", 3, tc.change)
				for cluster, left := range tc.left {
					f.left["runs in "+cluster] = left
				}
				f.snapshot.NotReady["away"] = true
				f.decide()
				f.snapshot.Now = noon.Add(time.Duration(after) * time.Second)
				if got, _ := f.decide(); got != want {
					t.Errorf("%d seconds later, decided %q, want %q", after, got, want)
				}
			}
		})
	}
}
