// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/test/page"
)

var _ = Describe("Moving from device plugins to DRA", func() {
	It("works with the commands of its page, and back", func(ctx context.Context) {
		text := must(os.ReadFile("../../docs/migration.md"))
		Expect(controlPlane.Apply(ctx, "../../config/samples/migration/nodes.yaml")).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			deleteJobs(ctx, "default")
			now := metav1.DeleteOptions{}
			Expect(ignoreNotFound(queues.SchedulingV1beta1().Queues().Delete(ctx, "pool-team", now))).To(Succeed())
			Expect(ignoreNotFound(kube.ResourceV1().DeviceClasses().Delete(ctx, "gpu.nvidia.com", now))).To(Succeed())
			Expect(kube.CoreV1().Nodes().Delete(ctx, "pool-0", now)).To(Succeed())
			Expect(kube.CoreV1().Nodes().Delete(ctx, "pool-1", now)).To(Succeed())
		})
		playHardware("gpu.nvidia.com", 4, "pool-0", "pool-1")
		shell := newShell()

		commands, printed := "", 0
		for _, block := range page.Block.FindAllStringSubmatch(string(text), -1) {
			switch block[1] {
			case "yaml":
				Expect(controlPlane.ApplyYAML(ctx, "migration.md", []byte(block[2]))).To(Succeed())
			case "sh":
				commands = block[2]
				By(commands)
				must(shell.run(ctx, commands))
			case "text": // these commands only read, so they can be repeated
				Eventually(func() ([]string, error) { return shell.run(ctx, commands) }).WithContext(ctx).Should(
					ContainElements(lines(block[2])), "what these commands print: %s", commands)
				printed++
			}
		}
		Expect(printed).To(Equal(8), "outputs in the page")
	}, NodeTimeout(3*timeout))
})

// shell runs commands of pages, with kubectl in the control plane's version and the project's programs.
type shell struct{ path, kubeconfig string }

func newShell() *shell {
	GinkgoHelper()
	bin := must(filepath.Abs("../../bin/controlplane"))
	dir := GinkgoT().TempDir()
	Expect(os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\nexec "+bin+" kubectl \"$@\"\n"), 0o755)).To(Succeed())
	return &shell{dir + ":" + filepath.Dir(bin) + ":" + os.Getenv("PATH"), filepath.Join(controlPlane.State(), "kubeconfigs", "admin")}
}

// run runs commands until one fails, and returns their output as lines.
func (s *shell) run(ctx context.Context, commands string) ([]string, error) {
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	command.Env = append(os.Environ(), "PATH="+s.path, "KUBECONFIG="+s.kubeconfig)
	command.Stderr = GinkgoWriter
	out, err := command.Output()
	return lines(string(out)), err
}

// lines returns the lines of a text, with single spaces between words.
func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			all = append(all, strings.Join(words, " "))
		}
	}
	return all
}
