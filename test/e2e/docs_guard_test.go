// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/devicequota/devicequota/test/page"
)

func guardInDocs() {
	It("works with the commands of its page", func(ctx context.Context) {
		text := must(os.ReadFile("../../docs/guard.md"))
		shell := newShell()
		commands, printed := "", 0
		for _, block := range page.Block.FindAllStringSubmatch(string(text), -1) {
			if block[1] == "sh" {
				commands = "cd ../..\n" + block[2]
				By(commands)
				// The API server needs a moment to learn of a policy.
				Eventually(func() error { _, err := shell.run(ctx, commands); return err }).WithContext(ctx).Should(Succeed())
				continue
			}
			Eventually(func() ([]string, error) { return shell.run(ctx, commands) }).WithContext(ctx).Should(
				ContainElements(lines(block[2])), "what these commands print: %s", commands)
			printed++
		}
		Expect(printed).To(Equal(3), "outputs in the page")

		By("refusing again")
		Eventually(func(g Gomega) {
			err := attempt{as: stranger, create: podIn("team-a")}.try(ctx)
			g.Expect(err).To(MatchError(ContainSubstring(mayNotUse)))
		}).WithContext(ctx).Should(Succeed())
	})
}
