// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/devicequota/devicequota/test/cluster"
	"github.com/devicequota/devicequota/test/page"
)

var _ = Describe("The tour", func() {
	It("prints what its page says, from queues to a report", func(ctx context.Context) {
		ownCluster(cluster.Options{SchedulerConfig: accountingConfig()})
		text := must(os.ReadFile("../../docs/tour.md"))
		shell := newShell()
		commands, printed := "", 0
		blocks := page.Block.FindAllStringSubmatch(string(text), -1)
		for i, block := range blocks {
			switch block[1] {
			case "sh":
				commands = "export LC_ALL=C.UTF-8\n" + block[2]
				By(commands)
				if i+1 < len(blocks) && blocks[i+1][1] == "text" {
					continue // the output may be right only after a moment
				}
				_, err := shell.run(ctx, commands)
				Expect(err).NotTo(HaveOccurred(), commands)
			case "text":
				Eventually(func() ([]string, error) {
					out, err := shell.run(ctx, commands)
					return page.Lines(strings.Join(out, "\n")), err
				}).WithContext(ctx).Should(Equal(page.Lines(block[2])), "what these commands print: %s", commands)
				printed++
			}
		}
		Expect(printed).To(Equal(8), "outputs in the page")
	}, NodeTimeout(3*timeout))
})
