// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("A device", func() {
	var (
		f     *fixture
		class string
	)

	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		class = f.model(ctx, "gpu")
	})

	claimed := func(ctx context.Context, name string) []resourcev1.DeviceRequestAllocationResult {
		return devicesOf(must(kube.ResourceV1().ResourceClaims(f.namespace).Get(ctx, name, metav1.GetOptions{})))
	}

	It("that another scheduler allocates, too, is reported on both claims, and no waiting pod starts on it", func(ctx context.Context) {
		f.node(ctx, "n", devices(2, "gpu", nil)...)
		queue := f.queue(ctx, "team", "root", limit(class, 2))
		f.allocate(ctx, f.claim(ctx, "theirs", exactly(class, 1)), "n", "gpu-0")
		f.stranger(ctx, queue, "theirs", "n")
		f.allocate(ctx, f.claim(ctx, "ours", exactly(class, 1)), "n", "gpu-0")

		for _, name := range []string{"theirs", "ours"} {
			expectWarning(ctx, f.namespace, "ResourceClaim", name, "DeviceAllocatedTwice", "The device "+f.driver()+"/"+f.name("n")+"/gpu-0 is allocated to ResourceClaims")
		}
		Eventually(schedulerMetrics).WithContext(ctx).Should(ContainSubstring("\nvolcano_devices_allocated_twice 1\n"))

		f.pod(ctx, "user", queue, using("ours"))
		f.expectPodRuns(ctx, "user")
		Expect(claimed(ctx, "ours")).To(HaveLen(1))
		Expect(claimed(ctx, "ours")[0].Device).To(Equal("gpu-1"))
		Expect(claimed(ctx, "theirs")[0].Device).To(Equal("gpu-0"))
		Eventually(schedulerMetrics).WithContext(ctx).Should(ContainSubstring("\nvolcano_devices_allocated_twice 0\n"))
		expectAllocated(ctx, queue, class+"/count", 1)
	})

	It("that the quota refuses is passed over for a smaller one of the same class", func(ctx context.Context) {
		f.node(ctx, "n", append(devices(2, "gpu", bytes("80Gi")), device("small-0", "gpu", bytes("40Gi")), device("small-1", "gpu", bytes("40Gi")))...)
		queue := f.queue(ctx, "team", "root", limit(class, 8, "memory", "120Gi"))
		f.template(ctx, "one-gpu", exactly(class, 1))
		f.template(ctx, "two-gpus", exactly(class, 2))
		f.pod(ctx, "both", queue, fromTemplate("two-gpus"))
		f.expectPodRuns(ctx, "both")
		expectAllocated(ctx, queue, class+"/count", 2, class+"/memory", "80Gi")
		setQuota(ctx, queue, limit(class, 8, "memory", "160Gi"))
		f.pod(ctx, "large", queue, fromTemplate("one-gpu"))
		f.expectPodRuns(ctx, "large")
		expectAllocated(ctx, queue, class+"/count", 3, class+"/memory", "160Gi")
	})
})
