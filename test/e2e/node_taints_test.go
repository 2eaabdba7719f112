// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = It("A node with a NoExecute taint loses its pods to others, within their quota, and keeps those that tolerate it", func(ctx context.Context) {
	f := newFixture(ctx)
	f.node(ctx, "broken", devices(3, "gpu", nil)...)
	f.class = f.model(ctx, "gpu")
	f.template(ctx, "gpu", exactly(f.class, 1))
	queue := f.queue(ctx, "team", "root", limit(f.class, 3))
	f.pod(ctx, "stays", queue, func(spec *corev1.PodSpec) {
		fromTemplate("gpu")(spec)
		spec.Tolerations = []corev1.Toleration{{Key: "broken", Operator: corev1.TolerationOpExists}}
	})
	f.submit(ctx, gang("moves", queue, 2).fromTemplate("gpu"))
	f.expectRunning(ctx, "moves", 2)
	f.expectPodRuns(ctx, "stays")
	held := f.watchDevices()

	f.node(ctx, "works", devices(3, "gpu", nil)...)
	node := must(kube.CoreV1().Nodes().Get(ctx, f.name("broken"), metav1.GetOptions{}))
	node.Spec.Taints = []corev1.Taint{{Key: "broken", Effect: corev1.TaintEffectNoExecute}}
	must(kube.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}))

	Eventually(func() (nodes []string) {
		for _, pod := range f.pods(ctx, "moves") {
			if pod.Status.Phase == corev1.PodRunning {
				nodes = append(nodes, pod.Spec.NodeName)
			}
		}
		return nodes
	}).WithContext(ctx).Should(HaveExactElements(f.name("works"), f.name("works")), "nodes of the gang")
	Expect(must(kube.CoreV1().Pods(f.namespace).Get(ctx, "stays", metav1.GetOptions{})).Spec.NodeName).To(Equal(f.name("broken")))
	f.expectPodRuns(ctx, "stays")
	expectAllocated(ctx, queue, f.class+"/count", 3)
	Expect(held.most()).To(Equal(3), "devices that were allocated at a time")
})
