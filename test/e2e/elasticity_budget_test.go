// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/devicequota/devicequota/test/cluster"
)

// spendBudgetOnce reclaims cards from pods with a disruption budget for one eviction, while the status of the budget is not updated.
func spendBudgetOnce(ctx context.Context) {
	s := newScene(ctx)
	DeferCleanup(func(ctx context.Context) { deleteNamespace(ctx, s.namespace) })
	cardsHeldByTheirs(ctx, s)
	s.budget(ctx, "theirs", 3)
	Eventually(s.record.outcome).WithContext(ctx).Should(Equal(outcome{tally{}, tally{"theirs": 4}}))
	s.budgetCounts(ctx, "theirs", 4)

	Expect(controlPlane.Kill(cluster.ControllerManager)).To(Succeed())
	restart := func(ctx context.Context) { Expect(controlPlane.Restart(ctx, cluster.ControllerManager)).To(Succeed()) }
	DeferCleanup(restart)
	once := outcome{tally{"theirs": 1}, tally{"theirs": 3, "ours": 1}}
	s.singles(ctx, "ours", s.name("ours"), 1, s.card)
	Eventually(s.record.outcome).WithContext(ctx).Should(Equal(once))
	s.singles(ctx, "more", s.name("ours"), 1, s.card)
	waitForCycles(ctx)
	Expect(s.record.outcome()).To(Equal(once))

	By("restarting the scheduler")
	killScheduler(ctx)
	waitForCycles(ctx)
	Expect(s.record.outcome()).To(Equal(once))
}
