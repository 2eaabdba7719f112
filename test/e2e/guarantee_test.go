// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

var _ = Describe("A guarantee", func() {
	It("is kept against the siblings of every ancestor, and the message says how much is guaranteed to others", func(ctx context.Context) {
		f := newFixture(ctx)
		ml := f.queue(ctx, "ml", "root", limit(f.class, 8))
		team := f.queue(ctx, "team", f.queue(ctx, "organization", ml, nil), &schedulingv1beta1.DRAQuota{
			Guarantee: schedulingv1beta1.DeviceQuotas{f.class: {Count: 4}},
		})
		other := f.queue(ctx, "other", ml, nil)
		f.submit(ctx, gang("five", other, 5))
		f.expectNotEnqueued(ctx, "five", "InsufficientScalarQuota", fmt.Sprintf(
			"Queue <%s> has insufficient <%s> quota: requested <5>, total would be <5>, but capability is <8>, of which <4> is guaranteed to others; this does not fit even when the queue is empty: ask for less, or for more quota", other, f.class))
		f.submit(ctx, gang("four", other, 4))
		f.expectRunning(ctx, "four", 4)
		f.submit(ctx, gang("guaranteed", team, 4))
		f.expectRunning(ctx, "guaranteed", 4)
	})

	It("is kept when another queue raises the minimum of a job that runs", func(ctx context.Context) {
		f := newFixture(ctx)
		ml := f.queue(ctx, "ml", "root", nil)
		setCapability(ctx, ml, corev1.ResourceCPU, 8)
		team, other := f.queue(ctx, "team", ml, nil), f.queue(ctx, "other", ml, nil)
		changeQueue(ctx, team, func(spec *schedulingv1beta1.QueueSpec) { spec.Guarantee.Resource = cores(4) })
		running := func(pods ...string) {
			GinkgoHelper()
			for _, pod := range pods {
				Eventually(func() corev1.PodPhase { return f.getPod(ctx, pod).Status.Phase }).WithContext(ctx).Should(Equal(corev1.PodRunning))
			}
		}
		f.group(ctx, "raised", other, "one")
		running("one")
		// A conflict with the patch would lose the phase, and the job would ask to be let in again.
		Eventually(func() upstreamv1beta1.PodGroupPhase {
			return must(vc.SchedulingV1beta1().PodGroups(f.namespace).Get(ctx, "raised", metav1.GetOptions{})).Status.Phase
		}).WithContext(ctx).Should(Equal(upstreamv1beta1.PodGroupRunning))
		patch := []byte(`{"spec": {"minResources": {"cpu": "1000"}}}`)
		must(vc.SchedulingV1beta1().PodGroups(f.namespace).Patch(ctx, "raised", types.MergePatchType, patch, metav1.PatchOptions{}))
		f.group(ctx, "late", other, "two")
		expectWarning(ctx, f.namespace, "PodGroup", "late", "InsufficientCPUQuota", fmt.Sprintf("Queue <%s> has insufficient <cpu> quota: "+
			"requested <1>, total would be <1001> (<1> allocated, <999> let in), but capability is <8>, of which <4> is guaranteed to others", other))
		f.group(ctx, "guaranteed", team, "a", "b", "c", "d")
		running("a", "b", "c", "d")
	})
})
