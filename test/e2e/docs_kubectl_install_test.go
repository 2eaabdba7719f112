// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("kubectl devicequota", func() {
	It("is installed, completed, and led to the scheduler itself with the commands of its page", func(ctx context.Context) {
		text := must(os.ReadFile(filepath.Join("../../docs", "kubectl.md")))
		// command returns the command of the page with a given beginning.
		command := func(beginning string) string {
			for line := range strings.Lines(string(text)) {
				if found := strings.TrimSpace(line); strings.HasPrefix(line, "    ") && strings.HasPrefix(found, beginning) {
					return found
				}
			}
			Fail("the page has no command " + beginning)
			return ""
		}
		f := newFixture(ctx)
		queue := f.queue(ctx, "completed", "root", limit(f.class, 2))
		folder := GinkgoT().TempDir()
		binary := must(filepath.Abs(plugin))
		Expect(os.Symlink(binary, filepath.Join(folder, "kubectl-devicequota"))).To(Succeed())
		shell := newShell()
		shell.path = folder + ":" + shell.path
		must(shell.run(ctx, "cd ../..\n"+strings.ReplaceAll(command("install "), "/usr/local/bin/", folder)))

		By("completing a name as a shell does, which asks kubectl, which runs the script")
		Eventually(func(g Gomega) {
			got, err := shell.run(ctx, "kubectl __complete devicequota tree "+queue[:len(queue)-1])
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal([]string{queue, ":4"}))
		}).WithContext(ctx).Should(Succeed())

		By("asking the scheduler with the token of somebody, at its own address, because no kubelet forwards ports here")
		Expect(command("kubectl -n volcano-system port-forward ")).To(HaveSuffix(" 8444 &"))
		accounts := kube.CoreV1().ServiceAccounts(f.namespace)
		must(accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "viewer"}}, metav1.CreateOptions{}))
		token := must(accounts.CreateToken(ctx, "viewer", &authenticationv1.TokenRequest{}, metav1.CreateOptions{}))
		config := filepath.Join(folder, "kubeconfig")
		must(shell.run(ctx, "kubectl config view --raw --minify > "+config))
		shell.kubeconfig = config
		must(shell.run(ctx, "kubectl config set-credentials viewer --token="+token.Status.Token+"\nkubectl config set-context --current --user=viewer"))
		tree := strings.ReplaceAll(command("kubectl devicequota tree --endpoint "), "https://localhost:8444", controlPlane.VisibilityURL())
		Eventually(func(g Gomega) {
			got, err := shell.run(ctx, tree)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strings.Join(got, "\n")).To(ContainSubstring(queue))
		}).WithContext(ctx).Should(Succeed())
	})
})
