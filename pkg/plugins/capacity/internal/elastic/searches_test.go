// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"fmt"
	"testing"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// TestPodsComeInTurnWhenUpstreamLooksForVictims: nobody can be evicted for the first 40 of 50 pods, and the last one is looked for in the second session.
func TestPodsComeInTurnWhenUpstreamLooksForVictims(t *testing.T) {
	var searched map[api.TaskID]bool
	for session, want := range []string{"0 to 31", "32 to 49", "0 to 31"} {
		s := NewSearches(searched, 1_000_000)
		first, last := -1, -1
		for i := range 50 {
			task := &api.TaskInfo{UID: api.TaskID(fmt.Sprint(i)), TransactionContext: api.TransactionContext{Status: api.Pending}}
			if !s.May(task) {
				continue
			}
			if first < 0 {
				first = i
			}
			if last = i; i >= 40 {
				task.Status = api.Pipelined
			} else if !s.May(task) {
				t.Errorf("pod %d is not looked for in its own job", i)
			}
		}
		if got := fmt.Sprintf("%d to %d", first, last); got != want {
			t.Errorf("session %d: pods %s are looked for, want %s", session, got, want)
		}
		searched = s.End()
	}
}
