// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("the scheduler", func() {
	It("begins a tenth of its sessions while nothing waits, and places a pod that comes then", func(ctx context.Context) {
		f := newFixture(ctx)
		queue := f.queue(ctx, "quiet", "root", nil)
		f.submit(ctx, gang("first", queue, 1))
		f.expectRunning(ctx, "first", 1)
		// A period is 20 milliseconds, so that there are 50 sessions in a second at most while something waits.
		perSecond := func() float64 {
			before, began := cycles(ctx), time.Now()
			Eventually(func() int { return cycles(ctx) }).WithContext(ctx).Should(BeNumerically(">=", before+5))
			return float64(cycles(ctx)-before) / time.Since(began).Seconds()
		}
		Eventually(perSecond).WithContext(ctx).Should(BeNumerically("<", 10))
		f.submit(ctx, gang("second", queue, 1))
		f.expectRunning(ctx, "second", 1)
	})
})
