// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// plugin is the binary of kubectl devicequota.
const plugin = "../../bin/kubectl-devicequota"

// tryDevicequota runs kubectl devicequota as the administrator, in a UTF-8 locale, and returns its output on stdout and stderr. For some
// seconds after a restart of the scheduler, the API server may not forward requests to it.
func tryDevicequota(ctx context.Context, args ...string) (string, error) {
	var output strings.Builder
	cmd := exec.CommandContext(ctx, plugin, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+controlPlane.Kubeconfig(), "LC_ALL=C.UTF-8")
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	return output.String(), err
}

var _ = Describe("kubectl devicequota", func() {
	It("shows how a queue stands, who holds its devices, and why a job waits", func(ctx context.Context) {
		f := newFixture(ctx)
		queue := f.queue(ctx, "team", "root", limit(f.class, 2))
		f.submit(ctx, gang("holds", queue, 2))
		f.expectRunning(ctx, "holds", 2)
		f.submit(ctx, gang("waits", queue, 1))
		refusal := insufficient(queue, f.class, 1, 3, 2)
		f.expectNotEnqueued(ctx, "waits", "InsufficientScalarQuota", refusal)

		Eventually(func(g Gomega) {
			devicequota := func(args ...string) string {
				output, err := tryDevicequota(ctx, args...)
				g.Expect(err).NotTo(HaveOccurred(), "%s", output)
				return output
			}
			tree := devicequota("tree", queue)
			g.Expect(tree).To(HavePrefix("QUEUE"))
			g.Expect(tree).To(MatchRegexp(`\n`+queue+` \(2 pods run; jobs: 1 Pending, 1 Running\)\n(.*\n)* +`+f.class+` +█{20} +2 +2 +`+queue+`\n`), "%s", tree)
			g.Expect(devicequota("tree", "-d", f.class)).To(MatchRegexp(`^CLUSTER .*\n` + f.class + ` +█+░+ +2 +\d+ +\d+ +\d+\n\nQUEUE`))
			holders := devicequota("holders", f.class, "-n", f.namespace, "-o", "wide")
			g.Expect(holders).To(MatchRegexp(`pod/holds-worker-[01] +`+queue+` +1 +Holds +\d+s +gpu-[01] .* gpu.example.com/gpu-[01]/gpu-\d\n`), "%s", holders)
			explanation := devicequota("explain", "job/waits", "-n", f.namespace)
			g.Expect(explanation).To(MatchRegexp(`^\w+/waits\S* in namespace `+f.namespace+` waits; its queue is `+queue+`\n  Cause: `+refusal), "%s", explanation)
			g.Expect(explanation).To(ContainSubstring("✗ "))
			waiting := devicequota("waiting", "-n", f.namespace, "--queue", queue)
			g.Expect(waiting).To(MatchRegexp(`job/waits .*InsufficientScalarQuota +`+f.class+` \d+/2 in `+queue+`\n`), "%s", waiting)
			Expect(devicequota("waiting", "-n", f.namespace, "-o", "wide", "--reason", "InsufficientScalarQuota")).To(ContainSubstring("no room for " + f.class + " in queue " + queue))
		}).WithContext(ctx).Should(Succeed())
	})

	It("completes names, and says what to do if something is wrong", func(ctx context.Context) {
		f := newFixture(ctx)
		queue := f.queue(ctx, "team", "root", limit(f.class, 2))
		Eventually(func() (string, error) { return tryDevicequota(ctx, "__complete", "tree", f.namespace) }).WithContext(ctx).Should(HavePrefix(queue + "\n"))

		expectRefusal := func(message string, args ...string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				output, err := tryDevicequota(ctx, args...)
				g.Expect(err).To(HaveOccurred())
				g.Expect(output).To(ContainSubstring(message))
			}).WithContext(ctx).Should(Succeed())
		}
		expectRefusal("apiGroups: [visibility.devicequota.io], resources: [holders], verbs: [get, list, watch]", "holders", "-n", f.namespace, "--as", f.namespace+"-nobody")
		expectRefusal(`queue "no-such-queue" does not exist`, "tree", "no-such-queue")
	})

	It("asks the scheduler itself, and follows what it does", func(ctx context.Context) {
		f := newFixture(ctx)
		queue := f.queue(ctx, "team", "root", limit(f.class, 2))
		tree := []string{"tree", queue, "--endpoint", controlPlane.VisibilityURL(), "--insecure-skip-tls-verify"}
		Eventually(func() (string, error) { return tryDevicequota(ctx, tree...) }).WithContext(ctx).Should(ContainSubstring(queue), "the scheduler has read the queue")
		output := &printed{}
		watch := exec.CommandContext(ctx, plugin, append(tree, "--watch")...)
		watch.Env = append(os.Environ(), "KUBECONFIG="+controlPlane.Kubeconfig(), "LC_ALL=C")
		watch.Stdout, watch.Stderr = output, output
		Expect(watch.Start()).To(Succeed())
		DeferCleanup(func() {
			_ = watch.Process.Kill()
			_ = watch.Wait()
		})
		Eventually(output.String).WithContext(ctx).Should(MatchRegexp(f.class + ` +\.{20} +0 +2 +` + queue))
		f.submit(ctx, gang("holds", queue, 1))
		Eventually(output.String).WithContext(ctx).Should(MatchRegexp(f.class + ` +#{10}\.{10} +1 +2 +` + queue))
	})
})

// printed collects the output of a running process.
type printed struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (p *printed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

// String implements fmt.Stringer.
func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}
