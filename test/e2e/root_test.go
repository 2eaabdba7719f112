// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// rootLimited is a class that the suite's root queue limits to three devices.
const rootLimited = "root-limited"

var _ = Describe("The root queue", func() {
	It("enforces its quota in every queue below it", func(ctx context.Context) {
		f := newFixture(ctx)
		f.class = rootLimited
		createClass(ctx, rootLimited, sampleDriver)
		f.template(ctx, "limited", exactly(f.class, 1))
		queue := f.queue(ctx, "team", "root", nil)
		f.submit(ctx, gang("fits", queue, 3).fromTemplate("limited"))
		f.expectRunning(ctx, "fits", 3)
		f.submit(ctx, gang("excess", queue, 1).fromTemplate("limited"))
		f.expectNotEnqueued(ctx, "excess", "InsufficientScalarQuota", insufficient("root", rootLimited, 1, 4, 3))
	})

	It("keeps its dra for a thousand cycles", func(ctx context.Context) {
		before := getQueue(ctx, "root")
		// Upstream writes the status of root only when its allocated resources change, so a job must run. Cycles are rare while nothing waits.
		f := newFixture(ctx)
		queue := f.queue(ctx, "team", "root", nil)
		f.submit(ctx, gang("running", queue, 2))
		f.expectRunning(ctx, "running", 2)
		f.submit(ctx, gang("waiting", queue, 1).onNode("nowhere"))
		Eventually(func() int { return cycles(ctx) }).WithContext(ctx).WithTimeout(8 * timeout).Should(BeNumerically(">=", 1000))
		Eventually(func() bool { return getQueue(ctx, "root").Status.Allocated.Cpu().IsZero() }).WithContext(ctx).Should(BeFalse(), "the status of root was not written")

		after := getQueue(ctx, "root")
		Expect(after.Spec.DRA).To(Equal(limit(rootLimited, 3)))
		Expect(after.Generation).To(Equal(before.Generation), "the spec of root was written")
	})
})

// cycles returns the number of scheduling cycles so far, from the scheduler's metrics.
func cycles(ctx context.Context) int {
	for line := range strings.Lines(schedulerMetrics(ctx)) {
		if count, found := strings.CutPrefix(line, "volcano_e2e_scheduling_latency_milliseconds_count "); found {
			return must(strconv.Atoi(strings.TrimSpace(count)))
		}
	}
	return 0
}
