// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The scheduler's configuration", func() {
	It("stays in force if its file gets a mistake, until the mistake is corrected", func(ctx context.Context) {
		const valid = "\nvolcano_scheduler_configuration_valid 1\n"
		file := controlPlane.SchedulerConfigFile()
		text := must(os.ReadFile(file))
		put := func(text string) { Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed()) }
		DeferCleanup(func(ctx context.Context) {
			put(string(text))
			Eventually(schedulerMetrics).WithContext(ctx).Should(ContainSubstring(valid))
		})
		f := newFixture(ctx)
		queue := f.queue(ctx, "reloads", "root", limit(f.class, 2))
		f.submit(ctx, gang("before", queue, 1))
		f.expectRunning(ctx, "before", 1)
		Expect(schedulerMetrics(ctx)).To(ContainSubstring(valid))

		for i, mistake := range []string{
			"actions: [",
			strings.Replace(string(text), "enqueue, allocate", "enqueue, levitate", 1),
			strings.Replace(string(text), "deviceAccounting: matching", "deviceAccounting: all", 1),
		} {
			Expect(mistake).NotTo(Equal(string(text)))
			put(mistake)
			Eventually(schedulerMetrics).WithContext(ctx).Should(ContainSubstring("\nvolcano_scheduler_configuration_valid 0\n"))
			if i == 0 {
				f.submit(ctx, gang("meanwhile", queue, 1))
				f.expectRunning(ctx, "meanwhile", 1)
				f.submit(ctx, gang("too-much", queue, 1))
				f.expectNotEnqueued(ctx, "too-much", "InsufficientScalarQuota", insufficient(queue, f.class, 1, 3, 2))
			}
			put(string(text))
			Eventually(schedulerMetrics).WithContext(ctx).Should(ContainSubstring(valid))
		}
	})
})
