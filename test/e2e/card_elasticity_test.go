// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

var _ = Describe("Cards that a queue is owed", func() {
	const deserved, guarantee = schedulingv1beta1.CardDeservedAnnotation, schedulingv1beta1.CardGuaranteeAnnotation

	It("are kept from siblings if they are guaranteed, and taken back if they are deserved", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "h100", h100, 8)
		f.gpuNode(ctx, "rtx", rtx, 8) // otherwise, the cluster has too few nvidia.com/gpu to enqueue the jobs
		ml := f.cardQueue(ctx, "ml", "root", `{"NVIDIA-H100-80GB": 8}`)
		team, other := f.cardQueue(ctx, "team", ml, ""), f.cardQueue(ctx, "other", ml, "")
		annotateQueue(ctx, team, guarantee, `{"NVIDIA-H100-80GB": 4}`)
		annotateQueue(ctx, team, deserved, `{"NVIDIA-H100-80GB": 6}`)
		Eventually(func() []string { return cardAccount(ctx, team, "guarantee") }).WithContext(ctx).Should(ConsistOf(h100 + "=4"))
		Eventually(func() []string { return cardAccount(ctx, team, "deserved") }).WithContext(ctx).Should(ConsistOf(h100 + "=6"))
		Eventually(func() []string { return cardAccount(ctx, other, "capacity") }).WithContext(ctx).Should(ContainElement(h100 + "=4"))

		f.cardJob(ctx, "five", other, cardTask{names: h100, pods: 5})
		f.expectNotEnqueued(ctx, "five", "InsufficientScalarQuota", insufficient(other, h100, 5, 5, 8)+", of which <4> is guaranteed to others")
		f.cardJobWith(ctx, "four", other, startingWith(1), cardTask{names: h100, pods: 4})
		f.expectRunning(ctx, "four", 4)
		f.cardJob(ctx, "guaranteed", team, cardTask{names: h100, pods: 4})
		f.expectRunning(ctx, "guaranteed", 4)

		By("taking back what the queue deserves beyond that, and no more")
		f.cardJob(ctx, "deserved", team, cardTask{names: h100, pods: 2})
		f.expectRunning(ctx, "deserved", 2)
		f.expectRunning(ctx, "four", 2)
		f.cardJob(ctx, "more", team, cardTask{names: h100})
		waitForCycles(ctx)
		expectCards(ctx, team, h100+"=6")
		expectCards(ctx, other, h100+"=2")
	})

	It("stay the same if an annotation cannot be read, and the event says which", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "h100", h100, 8)
		ml := f.cardQueue(ctx, "ml", "root", `{"NVIDIA-H100-80GB": 8}`)
		team, other := f.cardQueue(ctx, "team", ml, ""), f.cardQueue(ctx, "other", ml, "")
		annotateQueue(ctx, team, guarantee, `{"NVIDIA-H100-80GB": 4, "NVIDIA-H100-80GB": 5}`)
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", team, "QuotaNotRead", "its annotation volcano.sh/card.guarantee is wrong at character ")
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", team, "QuotaNotRead", "until then, the queue is guaranteed no cards")

		annotateQueue(ctx, team, guarantee, `{"NVIDIA-H100-80GB": 4}`)
		Eventually(func() []string { return cardAccount(ctx, other, "capacity") }).WithContext(ctx).Should(ConsistOf(h100 + "=4"))
		annotateQueue(ctx, team, guarantee, `{"NVIDIA-H100-80GB": 9223372036854775808}`)
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", team, "QuotaNotRead", "is not a whole number from 0 to 9223372036854775807; write a JSON object of card names and whole numbers")
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", team, "QuotaNotRead", "until then, its last valid value holds")
		Expect(cardAccount(ctx, other, "capacity")).To(ConsistOf(h100 + "=4"))

		By("reporting numbers that contradict each other, and cards that are not listed")
		annotateQueue(ctx, team, guarantee, `{"NVIDIA-H100-80GB": 4}`)
		annotateQueue(ctx, team, deserved, `{"NVIDIA-H100-80GB": 2, "NVIDIA-A100-80GB": 1}`)
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", team, "ContradictoryCards",
			"The queue's annotation volcano.sh/card.guarantee has <4> of <NVIDIA-H100-80GB>, but its annotation volcano.sh/card.deserved has <2>: lower the one, or raise the other")
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", team, "CardNotListed",
			"The queue's annotation volcano.sh/card.deserved lists <NVIDIA-A100-80GB>, but the card quota of queue <"+ml+"> above it does not")
	})
})

func annotateQueue(ctx context.Context, queue, key, value string) {
	GinkgoHelper()
	patch := must(json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}}))
	must(queues.SchedulingV1beta1().Queues().Patch(ctx, queue, types.MergePatchType, patch, metav1.PatchOptions{}))
}
