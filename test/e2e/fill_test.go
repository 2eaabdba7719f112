// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/test/cluster"
)

var _ = Describe("A scheduler that is killed while it binds as fast as it can", func() {
	It("fills nodes again and again, and gives no device to two claims", func(ctx context.Context) {
		const perNode = 10
		nodes := 10
		if os.Getenv("SOAK") != "" {
			nodes = 100
		}
		f := newFixture(ctx)
		for i := range nodes {
			f.node(ctx, fmt.Sprint("n", i), devices(perNode, "gpu", nil)...)
		}
		f.class = f.model(ctx, "gpu")
		f.template(ctx, "gpu", exactly(f.class, 1))
		queue := f.queue(ctx, "team", "root", limit(f.class, int64(nodes*perNode)))
		devices, holders := f.watchDevices(), watchHolders(f.namespace)
		round := 0
		for began, duration := time.Now(), soakFor("10s"); round == 0 || time.Since(began) < duration; round++ {
			name := fmt.Sprint("fill-", round)
			By(name)
			f.submit(ctx, elastic(name, queue, int32(nodes*perNode), "gpu"))
			Eventually(devices.current, 2*timeout).WithContext(ctx).Should(BeNumerically(">", nodes*(1+round%8)), "allocated devices")
			Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
			Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
			Eventually(devices.current, 2*timeout).WithContext(ctx).Should(Equal(nodes*perNode), "allocated devices")
			Eventually(func() int { return f.phase(ctx, name, corev1.PodRunning) }, 2*timeout).WithContext(ctx).Should(Equal(nodes*perNode), "running pods")
			Expect(holders.violations()).To(BeEmpty())
			f.deleteJob(ctx, name)
			Eventually(devices.current, 2*timeout).WithContext(ctx).Should(BeZero(), "allocated devices")
		}
		AddReportEntry("fills", fmt.Sprint(round), ReportEntryVisibilityFailureOrVerbose)
		Expect(devices.most()).To(Equal(nodes * perNode))
	})
})
