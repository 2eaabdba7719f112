// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/devicequota/devicequota/test/cluster"
)

var _ = Describe("Nodes with cards", func() {
	It("may change while pods run: the pods keep their charge", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "n", h100, 8)
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 4, "NVIDIA-A100-80GB": 1}`)
		f.cardJob(ctx, "first", team, cardTask{names: h100, pods: 2})
		f.expectRunning(ctx, "first", 2)

		By("changing to another model")
		f.setNodeLabel(ctx, "n", "nvidia.com/gpu.product", a100)
		expectCardsIn(ctx, a100, 8)
		f.cardJob(ctx, "second", team, cardTask{names: a100})
		f.expectRunning(ctx, "second", 1)
		expectCards(ctx, team, h100+"=2", a100+"=1")
		f.cardJob(ctx, "third", team, cardTask{names: a100})
		f.expectNotEnqueued(ctx, "third", "InsufficientScalarQuota", insufficient(team, a100, 1, 2, 1))
		f.deleteJob(ctx, "third")

		By("being cordoned")
		f.setNodeLabel(ctx, "n", "nvidia.com/gpu.product", h100)
		f.patchNode(ctx, "n", `{"spec":{"unschedulable":true}}`)
		f.cardJob(ctx, "fourth", team, cardTask{names: h100, pods: 2})
		Eventually(func() int { return f.phase(ctx, "fourth", corev1.PodPending) }).WithContext(ctx).Should(Equal(2))
		expectCards(ctx, team, h100+"=2", a100+"=1")
		f.patchNode(ctx, "n", `{"spec":{"unschedulable":false}}`)
		f.expectRunning(ctx, "fourth", 2)
		expectCards(ctx, team, h100+"=4", a100+"=1")

		By("being deleted")
		f.gpuNode(ctx, "other", h100, 8)
		Expect(kube.CoreV1().Nodes().Delete(ctx, f.name("n"), metav1.DeleteOptions{})).To(Succeed())
		expectCardsIn(ctx, h100, 8)
		f.cardJob(ctx, "fifth", team, cardTask{names: h100})
		f.expectNotEnqueued(ctx, "fifth", "InsufficientScalarQuota", insufficient(team, h100, 1, 5, 4))
		expectCards(ctx, team, h100+"=4", a100+"=1")
		f.deleteJob(ctx, "first")
		f.expectOn(ctx, "fifth", "other", 1)
		expectCards(ctx, team, h100+"=3", a100+"=1")
	})

	It("get an event about invalid labels, and count once the labels are corrected", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "two", h100, 8)
		f.setNodeLabel(ctx, "two", "huawei.com/npu.product", ascend)
		f.cardNode(ctx, "memory", `nvidia.com/gpu.product: NVIDIA-H20, nvidia.com/gpu.memory: "80GB", nvidia.com/gpu.replicas: "0"`, `nvidia.com/gpu.shared: "4"`)
		expectNodeWarning := func(node, message string) {
			GinkgoHelper()
			expectWarning(ctx, metav1.NamespaceDefault, "Node", f.name(node), "CardsNotRead", message)
		}
		expectNodeWarning("two", "it has two card models, Ascend-910B (label huawei.com/npu.product) and NVIDIA-H100-80GB (label nvidia.com/gpu.product): remove one of the labels")
		expectNodeWarning("memory", `its label nvidia.com/gpu.memory is "80GB": write a whole number of MiB, such as 81559`)
		expectNodeWarning("memory", `its label nvidia.com/gpu.replicas is "0": write a whole number of shares of a card, such as 2`)
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 8, "NVIDIA-H20/mps-96g*1/2": 4}`)
		share := cardTask{names: h20 + "/mps-96g*1/2", resource: "nvidia.com/gpu.shared"}
		f.cardJobWith(ctx, "h100", team, func(*batchv1alpha1.Job) {}, cardTask{names: h100})
		f.cardJob(ctx, "share", team, share)
		f.expectRefused(ctx, "h100", "GetTaskRequestResourceFailed", "no node has a card NVIDIA-H100-80GB: it waits for one, or correct its annotation volcano.sh/card.name")
		f.expectRefused(ctx, "share", "GetTaskRequestResourceFailed", "no node has a card NVIDIA-H20/mps-96g*1/2")

		f.setNodeLabel(ctx, "two", "huawei.com/npu.product", "")
		f.setNodeLabel(ctx, "memory", "nvidia.com/gpu.memory", "97871")
		f.setNodeLabel(ctx, "memory", "nvidia.com/gpu.replicas", "2")
		f.expectRunning(ctx, "h100", 1)
		f.expectRunning(ctx, "share", 1)
		expectCards(ctx, team, h100+"=1", h20+"/mps-96g*1/2=1")
	})
})

var _ = Describe("Annotations about cards", func() {
	It("that are invalid are reported on their object and affect no other object", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "n", h100, 8)
		team, never := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 2}`), f.cardQueue(ctx, "never", "root", `{"H100": 2, "H100": 3}`)
		f.cardJob(ctx, "before", team, cardTask{names: h100})
		f.expectRunning(ctx, "before", 1)
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", never, "QuotaNotRead", "its annotation volcano.sh/card.quota is wrong at character 18: H100 is listed twice")
		Eventually(func() string { return schedulerMetrics(ctx) }).WithContext(ctx).Should(ContainSubstring(`volcano_queue_problems{reason="QuotaNotRead"} 1`))
		f.cardJob(ctx, "never", never, cardTask{names: h100})
		f.expectNotEnqueued(ctx, "never", "InsufficientScalarQuota", insufficient(never, h100, 1, 1, 0))

		By("keeping the last valid quota of a queue")
		setCards(ctx, team, `{"NVIDIA-H100-80GB": 2, "NVIDIA-H100-80GB": 5}`)
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", team, "QuotaNotRead", "NVIDIA-H100-80GB is listed twice; write a JSON object of card names and whole numbers, such as {\"NVIDIA-H200\": 8}; until then, its last valid quota holds")
		f.cardJob(ctx, "within", team, cardTask{names: h100})
		f.expectRunning(ctx, "within", 1)
		f.cardJob(ctx, "beyond", team, cardTask{names: h100})
		f.expectNotEnqueued(ctx, "beyond", "InsufficientScalarQuota", insufficient(team, h100, 1, 3, 2))

		By("not enqueuing a job, not binding a pod")
		for name, annotation := range map[string]string{"json": `{`, "fraction": `{"NVIDIA-H100-80GB": 0.5}`, "name": `{"NVIDIA-H100-80GB||X": 1}`} {
			f.cardJobWith(ctx, name, team, func(job *batchv1alpha1.Job) {
				job.Annotations = map[string]string{"volcano.sh/card.request": annotation}
			}, cardTask{names: h100})
			f.expectNotEnqueued(ctx, name, "GetTaskRequestResourceFailed", "its annotation volcano.sh/card.request is wrong ")
		}
		for i, names := range []string{"A||B", "A |B", "|"} {
			f.cardJob(ctx, fmt.Sprint("names-", i), team, cardTask{names: names})
			f.expectNotEnqueued(ctx, fmt.Sprint("names-", i), "GetTaskRequestResourceFailed", "its annotation volcano.sh/card.name is wrong at character ")
		}
		pod := f.pod(ctx, "alone", team, func(spec *corev1.PodSpec) {
			spec.Containers[0].Resources = cardTask{}.template().Spec.Containers[0].Resources
		})
		Expect(pod.Annotations).NotTo(HaveKey("volcano.sh/card.name"))
		Eventually(func() bool {
			return warned(ctx, f.namespace, "InsufficientScalarQuota", insufficient(team, h100, 1, 3, 2))
		}).WithContext(ctx).Should(BeTrue())

		By("going on once they are corrected")
		setCards(ctx, never, `{"NVIDIA-H100-80GB": 1}`)
		f.expectRunning(ctx, "never", 1)
		setCards(ctx, team, `{"NVIDIA-H100-80GB": 4}`)
		f.expectRunning(ctx, "beyond", 1)
		f.expectPodRuns(ctx, "alone")
		Eventually(func() string { return schedulerMetrics(ctx) }).WithContext(ctx).Should(ContainSubstring(`volcano_queue_problems{reason="QuotaNotRead"} 0`))
	})

	It("that name cards of different resources are refused, since the pod would get both", func(ctx context.Context) {
		f := newFixture(ctx)
		f.fiveModels(ctx)
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 8, "Ascend-910B": 8}`)
		f.cardJob(ctx, "both", team, cardTask{names: h100 + "|" + ascend})
		f.expectNotEnqueued(ctx, "both", "GetTaskRequestResourceFailed",
			"NVIDIA-H100-80GB and Ascend-910B are cards of different resources, nvidia.com/gpu and huawei.com/Ascend910, and a pod that requests both gets one card of each: name cards of one resource only")
	})
})

var _ = Describe("A burst of jobs with cards", func() {
	It("never exceeds a quota, even if the scheduler is killed", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "h100", h100, 8)
		f.gpuNode(ctx, "a100", a100, 8)
		org := f.cardQueue(ctx, "org", "root", `{"NVIDIA-H100-80GB": 5, "NVIDIA-A100-80GB": 4}`)
		left, right := f.cardQueue(ctx, "left", org, `{"NVIDIA-H100-80GB": 3, "NVIDIA-A100-80GB": 4}`), f.cardQueue(ctx, "right", org, "")
		const jobs = 40
		watch := f.watchCards(gpus)
		for i := range jobs {
			names := []string{h100 + "|" + a100, a100, h100, ""}[i%4]
			f.cardJob(ctx, fmt.Sprint("burst-", i), []string{left, right}[i%2], cardTask{names: names, pods: 1 + i%3, runFor: "400ms"})
		}
		finished := func() int {
			n := 0
			for i := range jobs {
				if f.phase(ctx, fmt.Sprint("burst-", i), corev1.PodSucceeded) == 1+i%3 {
					n++
				}
			}
			return n
		}
		for range 2 {
			before := finished()
			Eventually(finished).WithContext(ctx).Should(Or(BeNumerically(">", before), Equal(jobs)))
			Expect(controlPlane.Kill(cluster.VolcanoScheduler)).To(Succeed())
			Expect(controlPlane.Restart(ctx, cluster.VolcanoScheduler)).To(Succeed())
		}
		Eventually(finished).WithContext(ctx).Should(Equal(jobs))
		expectCards(ctx, org)
		Expect(watch.mostOn(f.name("h100"))).To(And(BeNumerically("<=", 5), BeNumerically(">", 2)))
		Expect(watch.mostOn(f.name("a100"))).To(And(BeNumerically("<=", 4), BeNumerically(">", 2)))
		for line := range strings.Lines(schedulerLog()) { // the log includes entries of other specs
			Expect(line).NotTo(SatisfyAll(ContainSubstring("Failed to count"), ContainSubstring(f.namespace)))
		}
	})
})
