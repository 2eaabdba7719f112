// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

var _ = Describe("What a claim requests", func() {
	var f *fixture

	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	It("adds up over requests and claims, also of the same class", func(ctx context.Context) {
		big, small := f.model(ctx, "big"), f.model(ctx, "small")
		f.node(ctx, "n", append(devices(4, "big", nil), devices(4, "small", nil)...)...)
		queue := f.queue(ctx, "team", "root", limits(capability(big, 4), capability(small, 3)))
		f.claim(ctx, "first", named("a", exactly(big, 1)), named("b", exactly(small, 1)), named("c", exactly(big, 2)))
		f.claim(ctx, "second", exactly(small, 2), named("admin", exactly(big, 1)))
		f.pod(ctx, "both", queue, func(spec *corev1.PodSpec) { using("first")(spec); using("second")(spec) })
		f.expectPodRuns(ctx, "both")
		expectAllocated(ctx, queue, big+"/count", 4, small+"/count", 3)
		for _, metric := range []string{"capability", "request"} { // the metrics of a session are written one by one
			Eventually(func() map[string]float64 { return account(ctx, queue, metric) }).WithContext(ctx).
				Should(Equal(map[string]float64{big + "/count": 4, small + "/count": 3}))
		}
		Expect(kube.CoreV1().Pods(f.namespace).Delete(ctx, "both", metav1.DeleteOptions{})).To(Succeed())
		expectAllocated(ctx, queue)
	})

	It("is the actual number of devices for a request for all devices of a node", func(ctx context.Context) {
		class := f.model(ctx, "gpu")
		f.node(ctx, "a", devices(3, "gpu", nil)...)
		f.node(ctx, "b", devices(3, "gpu", nil)...)
		queue := f.queue(ctx, "team", "root", limit(class, 5))
		f.template(ctx, "all", all(class))
		f.submit(ctx, elastic("whole", queue, 2, "all"))
		f.expectRunning(ctx, "whole", 1)
		f.expectPodWarnings(ctx, "whole", 1, "InsufficientScalarQuota", insufficient(queue, class, 3, 6, 5))
		expectAllocated(ctx, queue, class+"/count", 3)
		setQuota(ctx, queue, limit(class, 6))
		f.expectRunning(ctx, "whole", 2)
		expectAllocated(ctx, queue, class+"/count", 6)
	})

	It("is the next alternative if the quota of the first is full, and the pod is charged for that one", func(ctx context.Context) {
		big, small := f.model(ctx, "big"), f.model(ctx, "small")
		f.node(ctx, "n", append(devices(4, "big", nil), devices(4, "small", nil)...)...)
		parent := f.queue(ctx, "ml", "root", limits(capability(big, 1), capability(small, 4)))
		queue := f.queue(ctx, "team", parent, nil)
		f.template(ctx, "either", firstAvailable(exactly(big, 1), exactly(small, 2)))
		f.submit(ctx, elastic("choosy", queue, 4, "either"))
		f.expectRunning(ctx, "choosy", 3)
		expectAllocated(ctx, queue, big+"/count", 1, small+"/count", 4)
		expectAllocated(ctx, parent, big+"/count", 1, small+"/count", 4)
		f.expectPodWarnings(ctx, "choosy", 1, "InsufficientScalarQuota", insufficient(parent, big, 1, 2, 1))
	})

	It("keeps a job from being enqueued if not every pod can have one of its alternatives", func(ctx context.Context) {
		big, small := f.model(ctx, "big"), f.model(ctx, "small")
		f.node(ctx, "n", append(devices(4, "big", nil), devices(8, "small", nil)...)...)
		queue := f.queue(ctx, "team", "root", limits(capability(big, 2), capability(small, 5)))
		f.template(ctx, "either", firstAvailable(exactly(big, 1), exactly(small, 2)))
		f.submit(ctx, gang("large", queue, 5).fromTemplate("either"))
		f.expectNotEnqueued(ctx, "large", "InsufficientScalarQuota", insufficient(queue, small, 6, 6, 5))
		f.submit(ctx, gang("fits", queue, 4).fromTemplate("either"))
		f.expectRunning(ctx, "fits", 4)
		expectAllocated(ctx, queue, big+"/count", 2, small+"/count", 4)
	})

	It("is the next alternative if the devices of the first are in use", func(ctx context.Context) {
		big, small := f.model(ctx, "big"), f.model(ctx, "small")
		f.node(ctx, "n", append(devices(1, "big", nil), devices(1, "small", nil)...)...)
		queue := f.queue(ctx, "team", "root", limits(capability(big, 8), capability(small, 8)))
		f.template(ctx, "either", firstAvailable(exactly(big, 1), exactly(small, 1)))
		f.submit(ctx, gang("choosy", queue, 2).fromTemplate("either"))
		f.expectRunning(ctx, "choosy", 2)
		expectAllocated(ctx, queue, big+"/count", 1, small+"/count", 1)
	})

	It("is free of charge with administrative access", func(ctx context.Context) {
		class := f.model(ctx, "gpu")
		f.node(ctx, "n", devices(2, "gpu", nil)...)
		_, err := kube.CoreV1().Namespaces().Patch(ctx, f.namespace, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}}`), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		user, observer := f.queue(ctx, "user", "root", limit(class, 2)), f.queue(ctx, "observer", "root", limit(class, 0))
		f.template(ctx, "two", exactly(class, 2))
		f.submit(ctx, gang("user", user, 1).fromTemplate("two"))
		f.expectRunning(ctx, "user", 1)
		watching := all(class)
		watching.Exactly.AdminAccess = ptr.To(true)
		f.template(ctx, "admin", watching)
		f.submit(ctx, gang("observer", observer, 1).fromTemplate("admin"))
		f.expectRunning(ctx, "observer", 1)
		expectAllocated(ctx, observer)
		expectAllocated(ctx, user, class+"/count", 2)
	})

	It("may be the largest possible number", func(ctx context.Context) {
		class := f.model(ctx, "gpu")
		queue := f.queue(ctx, "team", "root", limit(class, 8))
		f.template(ctx, "vast", exactly(class, math.MaxInt64))
		f.submit(ctx, gang("vast", queue, 2).fromTemplate("vast"))
		f.expectNotEnqueued(ctx, "vast", "InsufficientScalarQuota", fmt.Sprintf(
			"Queue <%s> has insufficient <%s> quota: requested <18446744073709551614>, total would be <18446744073709551614>, but capability is <8>; this does not fit even when the queue is empty: ask for less, or for more quota", queue, class))
	})

	It("is all capacity of devices that are not shared", func(ctx context.Context) {
		class := f.model(ctx, "gpu")
		f.node(ctx, "n", devices(4, "gpu", bytes("80Gi"))...)
		queue := f.queue(ctx, "team", "root", limit(class, 4, "memory", "200Gi"))
		f.template(ctx, "gpu", exactly(class, 1))
		f.submit(ctx, elastic("pods", queue, 3, "gpu"))
		f.expectRunning(ctx, "pods", 2)
		f.expectPodWarnings(ctx, "pods", 1, "InsufficientScalarQuota", fmt.Sprintf(
			"Queue <%s> has insufficient <%s/memory> quota: requested <80GiB>, total would be <240GiB>, but capability is <200GiB>", queue, class))
		expectAllocated(ctx, queue, class+"/count", 2, class+"/memory", "160Gi")
	})

	It("is the same whether or not the quota writes the domain of the driver", func(ctx context.Context) {
		class := f.model(ctx, "gpu")
		f.node(ctx, "n", devices(4, "gpu", bytes("80Gi"))...)
		queue := f.queue(ctx, "team", "root", limit(class, 4, f.driver()+"/memory", "200Gi"))
		f.template(ctx, "gpu", exactly(class, 1))
		f.submit(ctx, elastic("pods", queue, 3, "gpu"))
		f.expectRunning(ctx, "pods", 2)
		f.expectPodWarnings(ctx, "pods", 1, "InsufficientScalarQuota", fmt.Sprintf(
			"Queue <%s> has insufficient <%s/%s/memory> quota: requested <80GiB>, total would be <240GiB>, but capability is <200GiB>", queue, class, f.driver()))
	})

	It("is the consumed capacity of a shared device, rounded by its policy", func(ctx context.Context) {
		class := f.model(ctx, "gpu")
		shared := device("gpu", "gpu", capacities{"memory": {Value: resource.MustParse("80Gi"), RequestPolicy: &resourcev1.CapacityRequestPolicy{
			Default:    ptr.To(resource.MustParse("10Gi")),
			ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: ptr.To(resource.MustParse("5Gi")), Step: ptr.To(resource.MustParse("5Gi"))},
		}}})
		shared.AllowMultipleAllocations = ptr.To(true)
		f.node(ctx, "n", shared)
		queue := f.queue(ctx, "team", "root", limit(class, 8, "memory", "55Gi"))
		f.template(ctx, "some", sized(exactly(class, 1), "memory", "37Gi"))
		f.template(ctx, "default", exactly(class, 1))
		f.submit(ctx, gang("some", queue, 1).fromTemplate("some"))
		f.expectRunning(ctx, "some", 1)
		expectAllocated(ctx, queue, class+"/count", 1, class+"/memory", "40Gi")
		f.submit(ctx, elastic("default", queue, 2, "default"))
		f.expectRunning(ctx, "default", 1)
		expectAllocated(ctx, queue, class+"/count", 2, class+"/memory", "50Gi")
		f.expectPodWarnings(ctx, "default", 1, "InsufficientScalarQuota", fmt.Sprintf(
			"Queue <%s> has insufficient <%s/memory> quota: requested <10GiB>, total would be <60GiB>, but capability is <55GiB>", queue, class))
	})

	It("does not grow by negative requests, which Kubernetes allows for devices without a policy", func(ctx context.Context) {
		class := f.model(ctx, "gpu")
		shared := device("gpu", "gpu", bytes("80Gi"))
		shared.AllowMultipleAllocations = ptr.To(true)
		f.node(ctx, "n", shared)
		queue := f.queue(ctx, "team", "root", limit(class, 8, "memory", "40Gi"))
		for name, quantity := range map[string]string{"less": "-1000Gi", "slow": "-1e999999999"} {
			f.template(ctx, name, sized(exactly(class, 1), "memory", quantity))
			f.submit(ctx, gang(name, queue, 1).fromTemplate(name))
			f.expectNotEnqueued(ctx, name, "GetTaskRequestResourceFailed", "it requests a negative amount of capacity memory: request 0 or more")
		}
		f.template(ctx, "some", sized(exactly(class, 1), "memory", "30Gi"))
		f.submit(ctx, elastic("some", queue, 2, "some"))
		f.expectRunning(ctx, "some", 1)
		f.expectPodWarnings(ctx, "some", 1, "InsufficientScalarQuota", fmt.Sprintf(
			"Queue <%s> has insufficient <%s/memory> quota: requested <30GiB>, total would be <60GiB>, but capability is <40GiB>", queue, class))
		expectAllocated(ctx, queue, class+"/count", 1, class+"/memory", "30Gi")
	})

	It("is the capacity of the partition for partitions of a device", func(ctx context.Context) {
		class := f.model(ctx, "mig")
		f.nodeWith(ctx, "n", cardOf80Gi, partition("half-0", "mig", "40Gi"), partition("half-1", "mig", "40Gi"),
			partition("eighth-0", "mig", "10Gi"), partition("eighth-1", "mig", "10Gi"), partition("eighth-2", "mig", "10Gi"))
		queue := f.queue(ctx, "team", "root", limit(class, 8, "memory", "60Gi"))
		profile := func(size string) resourcev1.DeviceRequest {
			r := exactly(class, 1)
			r.Exactly.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{
				Expression: fmt.Sprintf("device.attributes[%q].size == %q", f.driver(), size)}}}
			return r
		}
		f.template(ctx, "half", profile("40Gi"))
		f.template(ctx, "eighth", profile("10Gi"))
		f.submit(ctx, elastic("half", queue, 2, "half"))
		f.expectRunning(ctx, "half", 1)
		f.submit(ctx, elastic("eighth", queue, 3, "eighth"))
		f.expectRunning(ctx, "eighth", 2)
		expectAllocated(ctx, queue, class+"/count", 3, class+"/memory", "60Gi")
		f.expectPodWarnings(ctx, "eighth", 1, "InsufficientScalarQuota", fmt.Sprintf(
			"Queue <%s> has insufficient <%s/memory> quota: requested <10GiB>, total would be <70GiB>, but capability is <60GiB>", queue, class))
	})

	It("counts as cards of the name in the annotation of its class", func(ctx context.Context) {
		model := func(c *resourcev1.DeviceClass) {
			c.Annotations = map[string]string{"volcano.sh/card.name": "NVIDIA-H100-80GB"}
		}
		whole, part := f.model(ctx, "whole", model), f.model(ctx, "part", model)
		f.node(ctx, "n", append(devices(4, "whole", nil), devices(4, "part", nil)...)...)
		queue := f.queue(ctx, "team", "root", nil)
		setCards(ctx, queue, `{"NVIDIA-H100-80GB": 3}`)
		f.template(ctx, "whole", exactly(whole, 1))
		f.template(ctx, "part", exactly(part, 1))
		f.submit(ctx, gang("first", queue, 2).fromTemplate("whole"))
		f.expectRunning(ctx, "first", 2)
		f.submit(ctx, elastic("second", queue, 2, "part"))
		f.expectRunning(ctx, "second", 1)
		f.expectPodWarnings(ctx, "second", 1, "InsufficientScalarQuota", insufficient(queue, "NVIDIA-H100-80GB", 1, 4, 3))

		By("refusing a card that is not listed")
		other := f.model(ctx, "other", func(c *resourcev1.DeviceClass) {
			c.Annotations = map[string]string{"volcano.sh/card.name": "NVIDIA-H200"}
		})
		f.template(ctx, "other", exactly(other, 1))
		f.submit(ctx, gang("third", queue, 1).fromTemplate("other"))
		f.expectNotEnqueued(ctx, "third", "InsufficientScalarQuota", insufficient(queue, "NVIDIA-H200", 1, 1, 0))
		f.deleteJob(ctx, "third")

		By("admitting no further pod while the quota is invalid")
		setCards(ctx, queue, `{"NVIDIA-H100-80GB": 9223372036854775808}`)
		expectWarning(ctx, "default", "Queue", queue, "QuotaNotRead", "its annotation volcano.sh/card.quota is wrong at character 40: 9223372036854775808 for NVIDIA-H100-80GB is not a whole number")
		setCards(ctx, queue, `{"NVIDIA-H100-80GB": 4}`)
		f.expectRunning(ctx, "second", 2)
	})
})
