// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// changing matches ports and folders of a development cluster.
var changing = regexp.MustCompile(`(127\.0\.0\.1:|/tmp/cluster-)\d+`)

var _ = Describe("The development cluster", func() {
	It("starts with the commands of its page, and prints what the page says", func(ctx context.Context) {
		page := must(os.ReadFile("../../docs/devcluster.md"))
		blocks := regexp.MustCompile(`(?m)(?:^    .*\n)+`).FindAllString(string(page), -1)
		started, used := lines(blocks[0]), strings.Join(lines(blocks[1]), "\n")
		command := strings.Fields(started[0])
		Expect(command[0]).To(Equal("bin/devcluster"))

		ctx, stop := context.WithCancel(ctx)
		cluster := exec.CommandContext(ctx, command[0], command[1:]...)
		cluster.Dir = "../.."
		cluster.Cancel = func() error { return cluster.Process.Signal(os.Interrupt) }
		out := must(cluster.StdoutPipe())
		Expect(cluster.Start()).To(Succeed())
		DeferCleanup(func() { stop(); _ = cluster.Wait() })
		var printed []string
		kubeconfig := ""
		for text := bufio.NewScanner(out); kubeconfig == "" && text.Scan(); {
			printed = append(printed, changing.ReplaceAllString(text.Text(), "$1"))
			_, kubeconfig, _ = strings.Cut(text.Text(), "ready: KUBECONFIG=")
		}
		for _, line := range started[2:] { // after the command and the dots
			Expect(printed).To(ContainElement(changing.ReplaceAllString(line, "$1")))
		}

		shell := newShell()
		shell.kubeconfig = kubeconfig
		_, err := shell.run(ctx, "cd ../..\n"+used)
		Expect(err).NotTo(HaveOccurred(), used)
	})
})
