// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"
)

// TestPreemptLooksForVictimsOfAPodTwice: among other jobs and in its own, however many queues there are.
func TestPreemptLooksForVictimsOfAPodTwice(t *testing.T) {
	asked := map[int]int64{}
	for _, queues := range []int{1, 8} {
		s := newFixture(8, 8)
		s.cache = newTestCache()
		for q := range queues {
			s.queue(fmt.Sprint("q", q), "root", nil).job(fmt.Sprint("empty", q), fmt.Sprint("q", q), running, nil)
		}
		for n := range 2 {
			s.job(fmt.Sprint("holds", n), "q0", running, nil, newPod(fmt.Sprint("holds", n), fmt.Sprint("n", n+1), cpu(8)))
		}
		for i := range 5 {
			s.job(fmt.Sprint("waits", i), "q0", inqueue, nil, newPod(fmt.Sprint("waits", i), "", cpu(2)))
		}
		asked[queues] = s.asked(t, (&Plugins{cache: s.cache}).Actions()[2])
	}
	if asked[1] == 0 || asked[8] != asked[1] {
		t.Errorf("nodes are asked %d times with one queue, and %d times with eight", asked[1], asked[8])
	}
}
