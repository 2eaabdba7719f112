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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/test/cluster"
	"github.com/devicequota/devicequota/test/page"
)

// failureBlock matches a block of the page, or a comment that says what breaks there.
var failureBlock = regexp.MustCompile("(?ms)^```(yaml|sh|text)\n(.*?)^```$|^<!-- (.*?) -->$")

var _ = Describe("When something breaks", func() {
	It("is as the page says, and what the page says to do helps", func(ctx context.Context) {
		ownCluster(cluster.Options{Manifests: []string{filepath.Join("..", "..", "config", "samples", "cluster")}})
		breaks := map[string]func(context.Context){
			"stop vc-scheduler":      func(context.Context) { Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed()) },
			"start vc-scheduler":     func(ctx context.Context) { Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed()) },
			"restart kube-apiserver": restartAPIServer,
			"start kwok":             func(ctx context.Context) { Expect(controlPlane.Restart(ctx, cluster.Kwok)).To(Succeed()) },
			"gpu-0 dies":             func(ctx context.Context) { dies(ctx, "gpu-0") },
		}
		shell := newShell()
		var commands string
		done, printed := 0, 0
		for _, block := range failureBlock.FindAllStringSubmatch(string(must(os.ReadFile("../../docs/failures.md"))), -1) {
			switch {
			case block[3] != "":
				By(block[3])
				breaks[block[3]](ctx)
				done++
			case block[1] == "yaml":
				Expect(controlPlane.ApplyYAML(ctx, "failures.md", []byte(block[2]))).To(Succeed())
			case block[1] == "sh":
				commands = "cd ../..; export LC_ALL=C.UTF-8\n" + block[2]
				By(commands)
				if !strings.Contains(block[2], "devicequota") && !strings.Contains(block[2], " get ") {
					must(shell.run(ctx, commands))
				}
			case block[1] == "text": // these commands only read, so they can be repeated
				Eventually(func() ([]string, error) {
					out, err := shell.run(ctx, commands)
					return page.Lines(strings.Join(out, "\n")), err
				}).WithContext(ctx).Should(ConsistOf(page.Lines(block[2])), "what these commands print: %s", commands)
				printed++
			}
		}
		Expect(done).To(Equal(len(breaks)), "what breaks")
		Expect(printed).To(Equal(11), "outputs in the page")
	}, NodeTimeout(3*timeout))
})

// dies lets a node end as Kubernetes sees it: its kubelet reports nothing any more, and its pods are deleted.
func dies(ctx context.Context, node string) {
	GinkgoHelper()
	Expect(controlPlane.Kill(cluster.Kwok)).To(Succeed())
	must(kube.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, []byte(`{"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}`), metav1.PatchOptions{}, "status"))
	Expect(kube.CoreV1().Pods("default").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})).To(Succeed())
}
