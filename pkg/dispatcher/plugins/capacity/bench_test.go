// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"testing"
)

// BenchmarkCycle opens a session and decides about 10,000 waiting workloads in 100 queues. In half of the queues, 2,000 workloads run
// and fill the queue above. Needs are cached. With reclaim, queues ask for what they deserve.
func BenchmarkCycle(b *testing.B) {
	for name, arguments := range map[string]string{"checks": "", "reclaim": "reclaim: true"} {
		b.Run(name, func(b *testing.B) {
			s := newScene(with(arguments), queue("ml", "cpu=8000", `cards={"NVIDIA-H20": 8000}`))
			for i := range 100 {
				name := fmt.Sprintf("q%d", i)
				queue(name, "parent=ml", "cpu=160", "memory=1Ti", "deserved:cpu=80", `deserved-cards={"NVIDIA-H20": 80}`)(s)
				for j := range 100 {
					job(fmt.Sprintf("w%d-%d", i, j), name, int64(1+j%7), gpus("NVIDIA-H20"))(s)
				}
				for j := range 40 * (i % 2) {
					job(fmt.Sprintf("g%d-%d", i, j), name, 4, gpus("NVIDIA-H20"), granted)(s)
				}
			}
			s.open(b)
			victims := 0
			for b.Loop() {
				_, p := s.open(b)
				for _, w := range s.workloads {
					if w.Waits() && p.allocatable(w) != nil && p.mayReclaim {
						victims += len(p.reclaim.victims(w))
					}
				}
			}
			b.ReportMetric(float64(victims)/float64(b.N), "victims/op")
		})
	}
}
