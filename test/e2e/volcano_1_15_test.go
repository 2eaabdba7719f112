// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// keyed sets the capability of a queue in the form of Volcano 1.15.
func keyed(key, quantity string) func(*upstreamv1beta1.QueueSpec) {
	return func(q *upstreamv1beta1.QueueSpec) {
		q.Capability = corev1.ResourceList{corev1.ResourceName(key): resource.MustParse(quantity)}
	}
}

// patches matches the commands of a page that patch a queue.
var patches = regexp.MustCompile(`(?m)^ +kubectl patch queue (\S+) --type merge -p '([^']+)'$`)

var _ = Describe("A quota of devices in the form of Volcano 1.15", func() {
	It("limits devices like spec.dra", func(ctx context.Context) {
		f := newFixture(ctx)
		f.node(ctx, "node", devices(4, "gpu", bytes("80Gi"))...)
		class := f.model(ctx, "gpu")
		queue := f.limitedQueue(ctx, "team", "root", keyed("deviceclass/"+class, "1"))
		f.template(ctx, "gpu", exactly(class, 1))
		f.submit(ctx, gang("first", queue, 1).fromTemplate("gpu"))
		f.expectRunning(ctx, "first", 1)
		f.submit(ctx, gang("second", queue, 1).fromTemplate("gpu"))
		f.expectNotEnqueued(ctx, "second", "InsufficientScalarQuota", insufficient(queue, class, 1, 2, 1))
	})

	It("becomes spec.dra, and one of Volcano 1.15 again, with the commands of the page", func(ctx context.Context) {
		text := must(os.ReadFile(filepath.Join("..", "..", "docs", "volcano-1.15.md")))
		commands := patches.FindAllStringSubmatch(string(text), -1)
		Expect(commands).To(HaveLen(4))
		name, api := commands[0][1], queues.SchedulingV1beta1().Queues()
		queue := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}}
		queue.Spec.Parent, queue.Spec.Weight = "root", 1
		keyed("deviceclass/nvidia-h100", "8")(&queue.Spec.QueueSpec)
		must(api.Create(ctx, queue, metav1.CreateOptions{}))
		DeferCleanup(func(ctx context.Context) error { return api.Delete(ctx, name, metav1.DeleteOptions{}) })
		for _, command := range commands {
			Expect(command[1]).To(Equal(name))
			_, err := api.Patch(ctx, name, types.MergePatchType, []byte(command[2]), metav1.PatchOptions{})
			Expect(err).NotTo(HaveOccurred(), command[0])
			waitForCycles(ctx)
			Eventually(func() (string, error) {
				now, err := api.Get(ctx, name, metav1.GetOptions{})
				return now.Annotations[schedulingv1beta1.DeviceUsageAnnotation], err
			}).WithContext(ctx).Should(Equal("nvidia-h100 0/8"), command[0])
		}
		now := must(api.Get(ctx, name, metav1.GetOptions{}))
		Expect(now.Spec.DRA).To(BeNil())
		Expect(now.Spec.Capability).To(HaveKeyWithValue(corev1.ResourceName("deviceclass/nvidia-h100"), resource.MustParse("8")))
	})

	It("is reported if it contradicts spec.dra, or is invalid", func(ctx context.Context) {
		f := newFixture(ctx)
		queue := f.limitedQueue(ctx, "team", "root", keyed("deviceclass/"+f.class, "3"))
		changeQueue(ctx, queue, func(q *schedulingv1beta1.QueueSpec) { q.DRA = limit(f.class, 8) })
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", queue, "ContradictoryDevices", fmt.Sprintf(
			"The queue's spec.capability[deviceclass/%[1]s] is <3>, but its spec.dra.capability[%[1]s].count is <8>, which limits the same devices of class <%[1]s>: the smaller number holds; remove one of them, or make them equal", f.class))
		changeQueue(ctx, queue, func(q *schedulingv1beta1.QueueSpec) { keyed("deviceclass/"+f.class, "-1")(&q.QueueSpec) })
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", queue, "QuotaNotRead", fmt.Sprintf(
			"its spec.capability[deviceclass/%s] is -1: set it to a whole number of devices, zero or more; until then, the last valid values of such keys hold", f.class))
	})
})
