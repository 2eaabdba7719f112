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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/test/cluster"
)

// configured returns a file with the project's scheduler configuration. Lines replace the entry of the plugin capacity.
func configured(lines string) string {
	GinkgoHelper()
	const begin, end = "  - name: capacity\n", "- plugins:\n"
	conf := must(os.ReadFile(filepath.Join("..", "..", "config", "scheduler", "volcano-scheduler.conf")))
	before, rest, found := strings.Cut(string(conf), begin)
	Expect(found).To(BeTrue(), "the configuration has an entry of the plugin capacity")
	_, after, found := strings.Cut(rest, end)
	Expect(found).To(BeTrue(), "the entry of the plugin capacity is the last one of its tier")
	path := filepath.Join(GinkgoT().TempDir(), "volcano-scheduler.conf")
	Expect(os.WriteFile(path, []byte(before+lines+end+after), 0o600)).To(Succeed())
	return path
}

// The cluster switches from Volcano's own scheduler to this project's, under both plugin names and with all arguments, while its pods run.
var _ = Describe("A cluster that already has cards and Volcano", Ordered, func() {
	BeforeAll(func() {
		ownCluster(cluster.Options{Scheduler: cluster.Volcano, Manifests: []string{filepath.Join("..", "..", "config", "samples", "cluster")}})
	})

	use := func(ctx context.Context, config string) {
		GinkgoHelper()
		Expect(controlPlane.UseScheduler(ctx, cluster.Ours, config)).To(Succeed())
	}

	It("switches to capacity without losing a pod, and counts those that run", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "h100", h100, 8)
		f.cardNode(ctx, "unlabelled", "", `nvidia.com/gpu: "2"`)
		team, free := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 3}`), f.cardQueue(ctx, "free", "root", "")
		f.cardJob(ctx, "before", team, cardTask{count: 4}) // Volcano's scheduler does not count cards
		f.cardJob(ctx, "quotaless", free, cardTask{count: 2}, cardTask{count: 2})
		f.expectRunning(ctx, "before", 1)
		f.expectRunning(ctx, "quotaless", 2)

		use(ctx, "")
		expectCards(ctx, team, h100+"=4")
		Eventually(func() []string { return cardAccount(ctx, free, "allocated") }).WithContext(ctx).Should(Or(ConsistOf(h100+"=2"), ConsistOf(h100+"=4")))
		f.cardJob(ctx, "more", team, cardTask{names: h100})
		f.expectNotEnqueued(ctx, "more", "InsufficientScalarQuota", insufficient(team, h100, 1, 5, 3))
		f.cardJob(ctx, "free", free, cardTask{})
		f.expectRunning(ctx, "free", 1)
		Expect(f.phase(ctx, "before", corev1.PodRunning) + f.phase(ctx, "quotaless", corev1.PodRunning)).To(Equal(3))
		f.deleteJob(ctx, "before")
		f.expectRunning(ctx, "more", 1)
		expectCards(ctx, team, h100+"=1")
	})

	It("exempts pods with cards from limits of cpu and memory if configured", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "h100", h100, 8)
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 8}`)
		changeQueue(ctx, team, func(spec *schedulingv1beta1.QueueSpec) {
			spec.Capability = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")}
		})
		f.cardJob(ctx, "large", team, cardTask{names: h100, cpu: "6"})
		f.expectNotEnqueued(ctx, "large", "InsufficientCPUQuota", insufficient(team, "cpu", 6, 6, 4))
		use(ctx, configured("  - name: capacity\n    enableHierarchy: true\n    arguments:\n      cardUnlimitedCpuMemory: true\n"))
		f.expectRunning(ctx, "large", 1)
		f.submit(ctx, gang("device", team, 1))
		f.expectRunning(ctx, "device", 1)
		f.cardJob(ctx, "plain", team, cardTask{resource: "example.com/other", cpu: "1"})
		f.expectNotEnqueued(ctx, "plain", "InsufficientCPUQuota", insufficient(team, "cpu", 1, 8, 4))
	})

	It("requires a card quota and counts other resources as cards if configured", func(ctx context.Context) {
		f := newFixture(ctx)
		f.cardNode(ctx, "n", "nvidia.com/gpu.product: "+h100, `nvidia.com/gpu: "4", example.com/accelerator: "4"`)
		use(ctx, configured("  - name: capacity\n    enableHierarchy: true\n    arguments:\n      cardQuotaRequired: true\n      cardResourceNames: [example.com/*]\n"))
		expectCardsIn(ctx, h100, 4)
		none, team := f.cardQueue(ctx, "none", "root", ""), f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 2}`)
		f.cardJob(ctx, "no-card", none, cardTask{count: 4})
		f.expectRunning(ctx, "no-card", 1)
		f.cardJob(ctx, "none", none, cardTask{names: h100, resource: "example.com/accelerator"})
		f.expectNotEnqueued(ctx, "none", "EmptyQueueCapability", insufficient(none, h100, 1, 1, 0)+"; the queue has no card quota: list the card in its annotation volcano.sh/card.quota")
		f.cardJob(ctx, "team", team, cardTask{names: h100, resource: "example.com/accelerator", count: 2})
		f.expectRunning(ctx, "team", 1)
		expectCards(ctx, team, h100+"=2")
	})

	It("weighs the order of names against the scores of other plugins", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "h100", h100, 8)
		f.gpuNode(ctx, "a100", a100, 8)
		team := f.cardQueue(ctx, "team", "root", "")
		use(ctx, configured("  - name: capacity\n    enableHierarchy: true\n    arguments:\n      nodeOrderWeight: 0\n"))
		f.cardJob(ctx, "fills", team, cardTask{names: a100, count: 5, cpu: "40"})
		f.expectOn(ctx, "fills", "a100", 1)
		f.cardJob(ctx, "packed", team, cardTask{names: h100 + "|" + a100, cpu: "8"})
		f.expectRunning(ctx, "packed", 1)
		packed := f.pods(ctx, "packed")[0].Spec.NodeName
		use(ctx, configured("  - name: capacity\n    enableHierarchy: true\n    arguments:\n      nodeOrderWeight: 100\n"))
		f.cardJob(ctx, "preferred", team, cardTask{names: h100 + "|" + a100, cpu: "8"})
		f.expectOn(ctx, "preferred", "h100", 1)
		f.cardJob(ctx, "other-way", team, cardTask{names: a100 + "|" + h100, cpu: "8"})
		f.expectOn(ctx, "other-way", "a100", 1)
		Expect(packed).To(Equal(f.name("a100")), "without a weight, binpack prefers the node with more allocated")
	})

	It("runs with the configuration in docs/cards.md", func(ctx context.Context) {
		text := must(os.ReadFile(filepath.Join("..", "..", "docs", "cards.md")))
		conf := regexp.MustCompile("(?s)```conf\n(.*?)```").FindSubmatch(text)
		Expect(conf).NotTo(BeNil())
		path := filepath.Join(GinkgoT().TempDir(), "volcano-scheduler.conf")
		Expect(os.WriteFile(path, conf[1], 0o600)).To(Succeed())
		use(ctx, path)
		f := newFixture(ctx)
		f.fiveModels(ctx)
		none, team := f.cardQueue(ctx, "none", "root", ""), f.cardQueue(ctx, "team", "root", `{"NVIDIA-H20/mig-1g.18gb-mixed": 1}`)
		changeQueue(ctx, team, func(spec *schedulingv1beta1.QueueSpec) { spec.Capability = amount(corev1.ResourceCPU, "1") })
		mig := cardTask{names: h20 + "/mig-1g.18gb-mixed", resource: "nvidia.com/mig-1g.18gb", cpu: "2"}
		f.cardJob(ctx, "team", team, mig)
		f.expectRunning(ctx, "team", 1)
		f.cardJob(ctx, "none", none, mig)
		f.expectNotEnqueued(ctx, "none", "EmptyQueueCapability", insufficient(none, mig.names, 1, 1, 0))
		f.cardJob(ctx, "npu", none, cardTask{resource: "huawei.com/Ascend910"}) // not in cardResourceNames
		f.expectRunning(ctx, "npu", 1)
	})

	It("tells a queue that deserves something that the configuration cannot give it that", func(ctx context.Context) {
		f := newFixture(ctx)
		deserving := f.limitedQueue(ctx, "deserving", "root", func(q *upstreamv1beta1.QueueSpec) { q.Deserved = amount(corev1.ResourceCPU, "4") })
		shipped := must(os.ReadFile(filepath.Join("..", "..", "config", "scheduler", "volcano-scheduler.conf")))
		with := func(old, replacement string) string {
			GinkgoHelper()
			Expect(string(shipped)).To(ContainSubstring(old))
			path := filepath.Join(GinkgoT().TempDir(), "volcano-scheduler.conf")
			Expect(os.WriteFile(path, []byte(strings.Replace(string(shipped), old, replacement, 1)), 0o600)).To(Succeed())
			return path
		}

		use(ctx, with(", reclaim", ""))
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", deserving, "ReclaimNotConfigured",
			"The queue deserves <4> of cpu, but nothing is taken back from other queues, because the scheduler's configuration does not have the action reclaim: add it to the actions")
		Eventually(func() int { return problemsOf(ctx, "ReclaimNotConfigured") }).WithContext(ctx).Should(Equal(1)) // counted after the event

		use(ctx, with("  - name: capacity\n", "- plugins:\n  - name: capacity\n"))
		expectWarning(ctx, metav1.NamespaceDefault, "Queue", deserving, "ReclaimIgnoresDeserved",
			"The queue deserves <4> of cpu, but for pods that ask for neither devices nor cards, reclaim may evict pods without regard to what queues deserve, because the scheduler's configuration has gang, conformance in another tier than capacity")

		use(ctx, "")
		Eventually(func() string { return schedulerMetrics(ctx) }).WithContext(ctx).Should(SatisfyAll(
			ContainSubstring(`volcano_queue_problems{reason="ReclaimNotConfigured"} 0`), ContainSubstring(`volcano_queue_problems{reason="ReclaimIgnoresDeserved"} 0`)))
	})

	It("runs the plugin under the name capacity-card with its own defaults", func(ctx context.Context) {
		f := newFixture(ctx)
		f.gpuNode(ctx, "h100", h100, 8)
		f.node(ctx, "plain")
		use(ctx, configured("  - name: capacity-card\n"))
		org := f.cardQueue(ctx, "org", "root", `{"NVIDIA-H100-80GB": 1}`)
		team, none := f.cardQueue(ctx, "team", org, `{"NVIDIA-H100-80GB": 4}`), f.cardQueue(ctx, "none", "root", "")
		changeQueue(ctx, team, func(spec *schedulingv1beta1.QueueSpec) {
			spec.Capability = corev1.ResourceList{"cpu": resource.MustParse("4"), gpus: resource.MustParse("1")}
		})
		f.cardJob(ctx, "fits", team, cardTask{names: h100, count: 4, cpu: "2"})
		f.expectRunning(ctx, "fits", 1) // limits of parents and of scalar resources do not apply
		expectCards(ctx, team, h100+"=4")
		f.cardJob(ctx, "cards", team, cardTask{names: h100, cpu: "1"})
		f.expectNotEnqueued(ctx, "cards", "InsufficientScalarQuota", insufficient(team, h100, 1, 5, 4))
		f.plain(ctx, "cpu", team, 1, 1, amount(corev1.ResourceCPU, "3"), "")
		f.expectNotEnqueued(ctx, "cpu", "InsufficientCPUQuota", insufficient(team, "cpu", 3, 5, 4))
		f.cardJob(ctx, "none", none, cardTask{names: h100})
		f.expectNotEnqueued(ctx, "none", "EmptyQueueCapability", insufficient(none, h100, 1, 1, 0))
		By("cpu without a limit of the queue is bounded by the cluster")
		f.plain(ctx, "huge", none, 1, 1, amount(corev1.ResourceCPU, "1000"), "")
		f.expectNotEnqueued(ctx, "huge", "NeverFits", "Queue <"+none+"> has insufficient <cpu> quota: requested <1000>")
		Expect(getQueue(ctx, team).Status.State).To(Equal(upstreamv1beta1.QueueStateOpen))
	})
})
