// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

var _ = Describe("A pod whose devices are free on a node that does not suit it", func() {
	It("is not told that devices are missing, after whichever action", func(ctx context.Context) {
		f := newFixture(ctx)
		class := f.model(ctx, "gpu")
		f.node(ctx, "n", devices(2, "gpu", nil)...)
		queue := f.queue(ctx, "team", "root", limit(class, 2))
		for _, name := range []string{"holds", "waits"} {
			f.claim(ctx, name, exactly(class, 1))
			f.pod(ctx, name, queue, func(spec *corev1.PodSpec) {
				using(name)(spec)
				spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080, HostPort: 8080}}
			})
			if name == "holds" {
				f.expectPodRuns(ctx, name)
			}
		}
		Eventually(func() []corev1.PodCondition { return f.getPod(ctx, "waits").Status.Conditions }).WithContext(ctx).
			Should(ContainElement(HaveField("Message", ContainSubstring("didn't have free ports"))))
		waitForCycles(ctx)
		Expect(f.warnings(ctx, "waits")).NotTo(ContainElement(ContainSubstring("No node has enough free devices")))
	})
})
