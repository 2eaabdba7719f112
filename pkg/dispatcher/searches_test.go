// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"fmt"
	"testing"
)

// TestASearchInOneQueueKeepsNoOtherOneWaiting: a user has hundreds of workloads for which not enough may go. Each is looked for once before any of them is
// looked for again.
func TestASearchInOneQueueKeepsNoOtherOneWaiting(t *testing.T) {
	for name, busy := range map[string]int{"one queue": 1, "many queues": 12} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "reclaim: true, strictOrder: false")
			f.queue("ml", "root", 3200)
			f.queue("b", "ml", 3200, 0)
			for i := range 320 {
				f.running(fmt.Sprintf("x%d", i), "b", 10)
			}
			for i := range busy {
				queue := fmt.Sprintf("a%02d", i)
				f.queue(queue, "ml", 3200, 1600)
				for j := range 400 {
					f.held(fmt.Sprintf("large-%d-%d", i, j), queue, int64(400+j))
				}
			}
			f.queue("z", "ml", 3200, 100)
			f.held("small", "z", 1)
			f.snapshot.NotReady["member1"] = true // nobody goes from there
			f.decide()
			delete(f.snapshot.NotReady, "member1")
			for range 10 {
				if _, cycle := f.decide(); len(cycle.victims) > 0 {
					return
				}
			}
			t.Error("nobody goes for the small workload in ten cycles")
		})
	}
}
