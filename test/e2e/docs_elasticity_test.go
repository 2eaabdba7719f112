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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// told matches a statement in a page about the event of a pod of a Volcano Job.
var told = regexp.MustCompile("(?m)^> A pod of `([^`]+)` is told `([^`]+)`: `([^`]+)`\\.$")

var _ = Describe("Elasticity", func() {
	It("works as in the examples of its page", func(ctx context.Context) {
		text := must(os.ReadFile(filepath.Join("../../docs", "elasticity.md")))
		cleanUpNode("doc-node")
		checked := 0
		for _, section := range strings.Split(string(text), "\n## ") {
			blocks := yamlBlock.FindAllStringSubmatchIndex(section, -1)
			for i, block := range blocks {
				after := section[block[1]:]
				if i+1 < len(blocks) {
					after = section[block[1]:blocks[i+1][0]]
				}
				Expect(controlPlane.ApplyYAML(ctx, "elasticity.md", []byte(section[block[2]:block[3]]))).To(Succeed(), "%s", section)
				checked += expectAfter(ctx, after)
			}
			if len(blocks) > 0 {
				deleteJobs(ctx, "default")
			}
		}
		Expect(checked).To(Equal(12), "statements in the page")
	})
})

// expectAfter checks the statements after an example, and returns their number.
func expectAfter(ctx context.Context, text string) int {
	charges, events, waiting := charged.FindAllStringSubmatch(text, -1), told.FindAllStringSubmatch(text, -1), waits.FindAllStringSubmatch(text, -1)
	for _, m := range events {
		Eventually(func() bool { return isTold(ctx, m[1], m[2], m[3]) }).WithContext(ctx).Should(BeTrue(), "%s", m[0])
	}
	for _, m := range waiting {
		Eventually(func() bool { return hasWarning(ctx, "default", m[2]) }).WithContext(ctx).Should(BeTrue(), "%s", m[0])
	}
	for _, m := range charges {
		var want []any
		for _, f := range figure.FindAllStringSubmatch(m[2], -1) {
			want = append(want, f[1], f[2])
		}
		expectAllocated(ctx, m[1], want...)
	}
	return len(charges) + len(events) + len(waiting)
}

// isTold reports whether a pod of a Volcano Job in the namespace default has an event.
func isTold(ctx context.Context, job, reason, message string) bool {
	events := must(kube.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod,reason=" + reason}))
	for i := range events.Items {
		e := &events.Items[i]
		if strings.HasPrefix(e.InvolvedObject.Name, job+"-") && e.Type == corev1.EventTypeNormal && e.Message == message {
			return true
		}
	}
	return false
}

// deleteJobs deletes the Volcano Jobs of a namespace, and waits until their pods are gone.
func deleteJobs(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(vc.BatchV1alpha1().Jobs(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(kube.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, metav1.ListOptions{})).To(Succeed())
		pods, err := kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pods.Items).To(BeEmpty())
	}).WithContext(ctx).Should(Succeed())
}
