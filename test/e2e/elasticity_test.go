// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/devicequota/devicequota/test/cluster"
)

// The scenarios of a context run side by side in one cluster: see play. To run only some of them, focus on their names.
var _ = Describe("Elasticity:", Ordered, ContinueOnFailure, func() {
	BeforeAll(func() {
		ownCluster(cluster.Options{SchedulerConfig: elasticConfig(false)})
	})

	Context("by default,", func() {
		play(nil, slices.Concat(reclaimScenarios, hierarchyScenarios, preemptScenarios, gangScenarios, recreateScenarios, rightsScenarios, dimensionScenarios, extendedScenarios, graceScenarios)...)
	})

	It("in a soak, no queue waits for what it deserves, and nobody is evicted for nothing", soakElasticity)

	It("fills nodes whose cards are in use, so that whole nodes stay free", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "one", h100, 8)
		f.gpuNode(ctx, "two", h100, 8)
		queue := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 16}`)
		for i := range 4 {
			name := fmt.Sprint("small-", i)
			f.cardJob(ctx, name, queue, cardTask{names: h100, count: 2})
			f.expectRunning(ctx, name, 1)
		}
		f.cardJob(ctx, "large", queue, cardTask{names: h100, count: 8})
		f.expectRunning(ctx, "large", 1)
	})

	It("spends a disruption budget of one once while its status lags behind", spendBudgetOnce)

	Context("with reclaimGangs, and a scheduler that is killed while victims leave,", func() {
		BeforeAll(func(ctx context.Context) {
			Expect(controlPlane.UseScheduler(ctx, cluster.Ours, elasticConfig(true))).To(Succeed())
		})
		play(killScheduler, slices.Concat(wholeGangScenarios, crashScenarios)...)
	})
})

var (
	actionsLine      = regexp.MustCompile(`(?m)^actions:.*$`)
	capacityArgument = regexp.MustCompile(`(?m)^      deviceAccounting: matching$`)
)

// elasticConfig returns a file with the configuration in config/scheduler, plus the actions for elasticity and the argument reclaimGangs.
func elasticConfig(reclaimGangs bool) string {
	GinkgoHelper()
	shipped := must(os.ReadFile(filepath.Join("..", "..", "config", "scheduler", "volcano-scheduler.conf")))
	for _, line := range []*regexp.Regexp{actionsLine, capacityArgument} {
		Expect(line.FindAll(shipped, -1)).To(HaveLen(1), "lines of the configuration like %s", line)
	}
	conf := actionsLine.ReplaceAllLiteralString(string(shipped), `actions: "enqueue, allocate, preempt, reclaim, backfill"`)
	conf = capacityArgument.ReplaceAllString(conf, "$0\n      reclaimGangs: "+strconv.FormatBool(reclaimGangs))
	path := filepath.Join(GinkgoT().TempDir(), "volcano-scheduler.conf")
	Expect(os.WriteFile(path, []byte(conf), 0o600)).To(Succeed())
	return path
}

// killScheduler kills the scheduler and starts it again.
func killScheduler(ctx context.Context) {
	Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
	Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
}
