// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/test/page"
)

var (
	// console matches a block of commands with the output of the last one.
	console = regexp.MustCompile("(?s)```console\n((?:\\$ [^\n]*\n)+)(.*?)```")
	// equals matches interchangeable pods and devices.
	equals = regexp.MustCompile(`\b(detector-worker|gpu)-\d`)
)

var _ = Describe("kubectl devicequota simulate", func() {
	It("prints what its page says", func(ctx context.Context) {
		text := must(os.ReadFile("../../docs/simulate.md"))
		cleanUpNode("doc-sim-gpus")
		DeferCleanup(deleteJobs, "default")
		blocks := yamlBlock.FindAllSubmatch(text, -1)
		Expect(blocks).To(HaveLen(2))
		Expect(controlPlane.ApplyYAML(ctx, "simulate.md", blocks[0][1])).To(Succeed())
		expectAllocated(ctx, "doc-sim-vision", "doc-sim-h100/count", "3")
		// A simulation reads the state from the API server, and the configuration from the scheduler.
		inDefault := &fixture{namespace: metav1.NamespaceDefault}
		inDefault.expectRunning(ctx, "detector", 3)
		Eventually(func(g Gomega) {
			group, err := vc.SchedulingV1beta1().PodGroups(metav1.NamespaceDefault).Get(ctx, inDefault.podGroup(ctx, "detector"), metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(group.Status.Phase).To(Equal(upstreamv1beta1.PodGroupRunning))
			output, err := tryDevicequota(ctx, "tree", "doc-sim-vision")
			g.Expect(err).NotTo(HaveOccurred(), "%s", output)
		}).WithContext(ctx).Should(Succeed())

		dir := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(dir, "job.yaml"), blocks[1][1], 0o600)).To(Succeed())
		shell := newShell()
		folder := must(filepath.Abs(filepath.Dir(plugin)))
		examples := console.FindAllStringSubmatch(string(text), -1)
		Expect(examples).To(HaveLen(4))
		for _, example := range examples {
			commands := strings.ReplaceAll(strings.ReplaceAll("\n"+example[1], "\n$ kubectl devicequota", "\n"+folder+"/kubectl-devicequota"), "\n$ ", "\n")
			By(example[1])
			// The exit code is 3 if a job waits.
			command := exec.CommandContext(ctx, "bash", "-c", "set -euo pipefail; cd "+dir+"\n"+commands)
			command.Env = append(os.Environ(), "PATH="+shell.path, "KUBECONFIG="+shell.kubeconfig, "LC_ALL=C.UTF-8")
			command.Stderr = GinkgoWriter
			output, _ := command.Output()
			Expect(page.Lines(equals.ReplaceAllString(string(output), "$1-N"))).To(Equal(page.Lines(equals.ReplaceAllString(example[2], "$1-N"))))
		}
	})
})
