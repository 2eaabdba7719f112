// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/devicequota/devicequota/test/page"
)

var consoleBlock = regexp.MustCompile(`(?s)` + "```console\n" + `\$ kubectl devicequota ([^\n]*)\n(.*?)` + "```")

var _ = Describe("kubectl devicequota", func() {
	It("prints what its page says", func(ctx context.Context) {
		text := must(os.ReadFile(filepath.Join("../../docs", "kubectl.md")))
		cleanUpNode("doc-gpus")
		DeferCleanup(deleteJobs, "default")
		for _, block := range yamlBlock.FindAllSubmatch(text, -1) {
			Expect(controlPlane.ApplyYAML(ctx, "kubectl.md", block[1])).To(Succeed())
			expectAllocated(ctx, "doc-nlp", "doc-a100/count", "4")
		}
		examples := consoleBlock.FindAllStringSubmatch(string(text), -1)
		Expect(examples).To(HaveLen(5))
		for _, example := range examples {
			if example[1] == "top" {
				continue // it takes minutes; pkg/cli/top tests it
			}
			Eventually(func() ([]string, error) {
				output, err := tryDevicequota(ctx, strings.Fields(example[1])...)
				return page.Lines(output), err
			}).WithContext(ctx).Should(Equal(page.Lines(example[2])), "kubectl devicequota %s", example[1])
		}

		By("running what troubleshooting.md says about the same job")
		text = must(os.ReadFile(filepath.Join("../../docs", "troubleshooting.md")))
		shell, printed := newShell(), []string(nil)
		for _, block := range page.Block.FindAllStringSubmatch(string(text), -1) {
			out, err := shell.run(ctx, block[2])
			Expect(err).NotTo(HaveOccurred(), block[2])
			printed = append(printed, out...)
		}
		Expect(strings.Join(printed, "\n")).To(And(ContainSubstring("job/tuner in namespace default waits"), ContainSubstring("Waiting"), ContainSubstring("WAITS FOR")))
	})
})
