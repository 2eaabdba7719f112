// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

var _ = Describe("A quota that is valid and surely a mistake", func() {
	It("is reported on its queue, and no longer counted once it is corrected", func(ctx context.Context) {
		f := newFixture(ctx)
		waitForCycles(ctx) // the scheduler forgets the queues and classes of the previous case
		before := problemsOf(ctx, "UnknownDeviceClass")
		class := f.namespace + "-late"
		queue := f.queue(ctx, "team", "root", limit(class, 2))
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", queue, "UnknownDeviceClass",
			fmt.Sprintf("The queue's quota lists <%s>, but there is no such DeviceClass: correct the name, or create the DeviceClass", class))
		Eventually(func() int { return problemsOf(ctx, "UnknownDeviceClass") }).WithContext(ctx).Should(Equal(before + 1))
		createClass(ctx, class, sampleDriver)
		Eventually(func() int { return problemsOf(ctx, "UnknownDeviceClass") }).WithContext(ctx).Should(Equal(before))
	})

	It("is reported for a class among resources, a child above its parent, and an annotation that is nearly right", func(ctx context.Context) {
		f := newFixture(ctx)
		parent := f.queue(ctx, "parent", "root", limit(f.class, 2))
		child := f.queue(ctx, "child", parent, limit(f.class, 3))
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", child, "LimitAboveParent",
			fmt.Sprintf("The queue's capability of %s is <3>, but that of queue <%s> above it is <2>, which holds: lower the one, or raise the other", f.class, parent))

		limited := f.limitedQueue(ctx, "class", "root", func(q *upstreamv1beta1.QueueSpec) {
			q.Capability = corev1.ResourceList{corev1.ResourceName(f.class): resource.MustParse("8")}
		})
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", limited, "ClassInCapability",
			fmt.Sprintf("The queue limits <%s> among its resources, where names of DeviceClasses limit nothing: list them in spec.dra", f.class))

		annotated := f.newQueue(ctx, "annotated", "root", func(q *schedulingv1beta1.Queue) { q.Annotations["volcano.sh/card-quota"] = `{"A": 1}` })
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", annotated, "UnknownAnnotation", "The queue's annotation volcano.sh/card-quota has no effect: rename it to volcano.sh/card.quota if that is meant")
	})
})

// problemsOf returns the number of queues with a problem, from the metric.
func problemsOf(ctx context.Context, reason string) int {
	GinkgoHelper()
	value := regexp.MustCompile(fmt.Sprintf(`(?m)^volcano_queue_problems\{reason=%q\} (\d+)$`, reason)).FindStringSubmatch(schedulerMetrics(ctx))
	Expect(value).To(HaveLen(2))
	return must(strconv.Atoi(value[1]))
}
