// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/test/cluster"
)

// crossquotaConfig has no other plugin that scores nodes, so the expected scores are known.
const crossquotaConfig = `
actions: "enqueue, allocate, backfill, preempt"
tiers:
- plugins:
  - name: crossquota
    arguments:
      gpu-resource-names: nvidia\.com/gpu.*
      gpu-device-classes: xq-gpu
      quota-resources: cpu,memory
      quota.cpu: 4
      label-selector:
        matchExpressions:
        - {key: example.com/system, operator: DoesNotExist}
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
  - name: capacity
    enableHierarchy: true
- plugins:
  - name: predicates
    arguments:
      predicate.DynamicResourceAllocationEnable: true
`

var _ = Describe("crossquota", Ordered, func() {
	BeforeAll(func() {
		config := filepath.Join(GinkgoT().TempDir(), "volcano-scheduler.conf")
		Expect(os.WriteFile(config, []byte(crossquotaConfig), 0o600)).To(Succeed())
		ownCluster(cluster.Options{SchedulerConfig: config, SchedulerArgs: []string{"--v=4"}})
		DeferCleanup(func() { Expect(schedulerLog()).NotTo(ContainSubstring("configuration of a plugin")) })
	})

	newCrossquotaFixture := func(ctx context.Context) *crossquotaFixture {
		namespace := must(kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "xq-"}}, metav1.CreateOptions{}))
		return &crossquotaFixture{&fixture{namespace: namespace.Name, kube: kube}}
	}

	It("admits pods without GPU to a GPU node up to the quota, and the next one says why it waits", func(ctx context.Context) {
		f := newCrossquotaFixture(ctx)
		gpu, plain := f.node(ctx, "gpu", "nvidia.com/gpu: 8"), f.node(ctx, "plain", "")
		for i := range 4 {
			f.run(ctx, fmt.Sprint("web-", i), gpu, "1")
		}
		f.create(ctx, "web-4", gpu, "1")
		f.expectWaits(ctx, "web-4", fmt.Sprintf("node %s has a quota of 4 cores of cpu for pods without GPU, they use 4 cores, and 1 core more would exceed it: "+
			"wait, request less, or raise annotation volcano.sh/crossquota-cpu of the node", gpu))

		By("admitting GPU pods, pods outside the selector, and pods on other nodes")
		f.run(ctx, "train", gpu, "2", requesting("nvidia.com/gpu"))
		f.create(ctx, "system", gpu, "1", labelled("example.com/system"))
		f.expectPodRuns(ctx, "system")
		f.run(ctx, "elsewhere", plain, "6")
		f.expectMetric(ctx, "used", gpu, "cpu", 4)
		f.expectMetric(ctx, "quota", gpu, "cpu", 4)
		Expect(schedulerMetrics(ctx)).NotTo(ContainSubstring(`volcano_crossquota_quota{node="` + plain))

		By("admitting the next one when a pod is gone")
		f.deletePod(ctx, "web-0")
		f.expectPodRuns(ctx, "web-4")
	})

	It("counts pods of another scheduler", func(ctx context.Context) {
		f := newCrossquotaFixture(ctx)
		gpu := f.node(ctx, "gpu", "nvidia.com/gpu: 8")
		f.run(ctx, "foreign", gpu, "3500m", func(pod *corev1.Pod) { pod.Spec.NodeName, pod.Spec.SchedulerName = gpu, "another-scheduler" })
		f.create(ctx, "web", gpu, "1")
		f.expectWaits(ctx, "web", "they use 3.5 cores, and 1 core more would exceed it")
		f.deletePod(ctx, "foreign")
		f.expectPodRuns(ctx, "web")
	})

	It("follows the node's annotations while pods run", func(ctx context.Context) {
		f := newCrossquotaFixture(ctx)
		gpu := f.node(ctx, "gpu", "nvidia.com/gpu: 8")
		f.annotate(ctx, gpu, "percentage-cpu", "25")
		f.run(ctx, "web-0", gpu, "1")
		f.run(ctx, "web-1", gpu, "1")
		f.create(ctx, "web-2", gpu, "1")
		f.expectWaits(ctx, "web-2", "has a quota of 2 cores of cpu")
		f.annotate(ctx, gpu, "cpu", "3000m")
		f.expectPodRuns(ctx, "web-2")

		By("evicting no pod when the quota is lowered")
		f.annotate(ctx, gpu, "cpu", "1")
		f.create(ctx, "web-3", gpu, "1")
		f.expectWaits(ctx, "web-3", "has a quota of 1 core of cpu for pods without GPU, they use 3 cores")
		f.create(ctx, "memory", gpu, "0", func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests = amount(corev1.ResourceMemory, "1Gi")
		})
		f.expectPodRuns(ctx, "memory")
		for i := range 3 {
			f.expectPodRuns(ctx, fmt.Sprint("web-", i))
		}

		By("reporting an invalid annotation on the node, and using the next source")
		f.annotate(ctx, gpu, "cpu", "lots")
		f.expectWaits(ctx, "web-3", "has a quota of 2 cores of cpu")
		const lots = `annotation volcano.sh/crossquota-cpu is "lots": it is not a quantity`
		f.expectEvents(ctx, "default", "Node", gpu, "InvalidCrossQuota", lots)
		f.annotate(ctx, gpu, "percentage-cpu", "200")
		f.expectPodRuns(ctx, "web-3") // now the argument applies
		f.expectEvents(ctx, "default", "Node", gpu, "InvalidCrossQuota", "Node <"+gpu+">: "+lots,
			`annotation volcano.sh/crossquota-percentage-cpu is "200": it is not between 0 and 100`)
	})

	// The nodes use 1 and 1.5 of 4 cores, and 16 and 0 of 32Gi. With the pod's 1 core and 2Gi, their scores for most-allocated are 10 * (10 * 2/4 + 1
	// * 18/32) / 11 = 5.06 and 10 * (10 * 2.5/4 + 1 * 2/32) / 11 = 5.74. For least-allocated, the scores are 10 minus these numbers.
	DescribeTable("steers pods by", func(ctx context.Context, strategy string, want int) {
		f := newCrossquotaFixture(ctx)
		nodes := []string{f.node(ctx, "wide", "nvidia.com/gpu: 8"), f.node(ctx, "busy", "nvidia.com/gpu: 8"), f.node(ctx, "plain", "")}
		f.run(ctx, "holds-0", nodes[0], "1", withMemory("16Gi"))
		f.run(ctx, "holds-1", nodes[1], "1500m")
		f.create(ctx, "web", "", "1", withMemory("2Gi"), func(pod *corev1.Pod) { pod.Annotations["volcano.sh/crossquota-scoring-strategy"] = strategy })
		f.expectPodRuns(ctx, "web")
		pod := must(kube.CoreV1().Pods(f.namespace).Get(ctx, "web", metav1.GetOptions{}))
		Expect(pod.Spec.NodeName).To(Equal(nodes[want]))
		if strategy == "fastest" {
			f.expectEvents(ctx, f.namespace, "Pod", "web", "UnknownScoringStrategy", `Annotation volcano.sh/crossquota-scoring-strategy is "fastest"`)
		}
	},
		Entry("most-allocated", "most-allocated", 1),
		Entry("least-allocated", "least-allocated", 0),
		Entry("the default where the strategy is unknown", "fastest", 1),
	)

	It("holds together with the quotas of queues", func(ctx context.Context) {
		f := newCrossquotaFixture(ctx)
		gpu := f.node(ctx, "gpu", "nvidia.com/gpu: 8")
		queue := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
		queue.Spec.Parent, queue.Spec.Weight, queue.Spec.Capability = "root", 1, amount(corev1.ResourceCPU, "3")
		must(queues.SchedulingV1beta1().Queues().Create(ctx, queue, metav1.CreateOptions{}))
		inQueue := func(pod *corev1.Pod) { pod.Annotations["scheduling.volcano.sh/queue-name"] = queue.Name }

		f.run(ctx, "team-0", gpu, "2", inQueue)
		f.create(ctx, "team-1", gpu, "2", inQueue) // the node would have room
		f.expectWaits(ctx, "team-1", fmt.Sprintf("Queue <%s> has insufficient <cpu> quota: requested <2>, total would be <4>, but capability is <3>", queue.Name))
		f.run(ctx, "other", gpu, "1500m")
		f.create(ctx, "team-2", gpu, "1", inQueue) // the queue would have room
		f.expectWaits(ctx, "team-2", "has a quota of 4 cores of cpu for pods without GPU, they use 3.5 cores")
		f.deletePod(ctx, "other")
		f.expectPodRuns(ctx, "team-2")
	})

	It("evicts pods for a pod of higher priority, and no more than necessary", func(ctx context.Context) {
		f := newCrossquotaFixture(ctx)
		gpu := f.node(ctx, "gpu", "nvidia.com/gpu: 8")
		for name, value := range map[string]int32{"low": 1, "high": 1000} {
			must(kube.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}, metav1.CreateOptions{}))
		}
		priority := func(class string) func(*corev1.Pod) {
			return func(pod *corev1.Pod) { pod.Spec.PriorityClassName = class }
		}
		for i := range 4 {
			f.run(ctx, fmt.Sprint("low-", i), gpu, "1", priority("low"))
		}
		f.create(ctx, "equal", gpu, "1", priority("low"))
		f.expectWaits(ctx, "equal", "they use 4 cores")
		f.deletePod(ctx, "equal")

		By("evicting although the node has free resources")
		f.run(ctx, "high", gpu, "2", priority("high"))
		names := f.podNames(ctx)
		Expect(names).To(ConsistOf("high", HavePrefix("low-"), HavePrefix("low-")))
		f.expectMetric(ctx, "used", gpu, "cpu", 4)

		By("saying that no eviction helps a pod for which the node has room, and the quota never")
		for _, name := range names {
			f.deletePod(ctx, name)
		}
		f.create(ctx, "too-much", gpu, "5", priority("high"))
		f.expectWaits(ctx, "too-much", "would exceed it: request less, or raise")
	})

	It("evicts for the quota only pods that use it, on a node that the pod can be bound to", func(ctx context.Context) {
		f := newCrossquotaFixture(ctx)
		gpu, other := f.node(ctx, "gpu", "nvidia.com/gpu: 8"), f.node(ctx, "other", "nvidia.com/gpu: 8")
		classed := func(class string) func(*corev1.Pod) {
			return func(pod *corev1.Pod) { pod.Spec.PriorityClassName = class }
		}
		for name, value := range map[string]int32{"lowest": 1, "lower": 2, "higher": 1000} {
			class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: f.namespace + "-" + name}, Value: value}
			must(kube.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}))
		}
		f.run(ctx, "train", gpu, "2", requesting("nvidia.com/gpu"), classed(f.namespace+"-lowest"))
		f.run(ctx, "system", gpu, "1", labelled("example.com/system"), classed(f.namespace+"-lowest"))
		f.run(ctx, "batch", gpu, "4", classed(f.namespace+"-lower"))
		f.run(ctx, "elsewhere", other, "4", withMemory("16Gi"), classed(f.namespace+"-lowest"))

		f.run(ctx, "high", gpu, "2", classed(f.namespace+"-higher"))
		Expect(f.podNames(ctx)).To(ConsistOf("train", "system", "elsewhere", "high"))
	})

	It("counts DRA devices as GPUs", func(ctx context.Context) {
		f := newCrossquotaFixture(ctx)
		dra := f.node(ctx, "dra", "")
		f.node(ctx, "plain", "") // room for waiting and later pods
		class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "xq-gpu"}}
		class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "xq.example.com"`}}}
		must(kube.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{}))
		f.run(ctx, "before", dra, "1")
		must(kube.ResourceV1().ResourceSlices().Create(ctx, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: dra}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "xq.example.com", NodeName: ptr.To(dra), Pool: resourcev1.ResourcePool{Name: dra, ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "gpu-0"}},
		}}, metav1.CreateOptions{}))
		must(kube.ResourceV1().ResourceClaimTemplates(f.namespace).Create(ctx, &resourcev1.ResourceClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: asking(exactly("xq-gpu", 1))}}, metav1.CreateOptions{}))
		f.expectMetric(ctx, "used", dra, "cpu", 1)
		f.create(ctx, "web", dra, "3500m")
		f.expectWaits(ctx, "web", "they use 1 core, and 3.5 cores more would exceed it")
		f.run(ctx, "train", dra, "5", func(pod *corev1.Pod) {
			pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}
			pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
		})
		f.expectMetric(ctx, "used", dra, "cpu", 1)
	})

	It("removes the metrics of deleted nodes", func(ctx context.Context) {
		f := newCrossquotaFixture(ctx)
		gpu := f.node(ctx, "gpu", "nvidia.com/gpu: 8")
		f.expectMetric(ctx, "quota", gpu, "memory", 32<<30)
		Expect(kube.CoreV1().Nodes().Delete(ctx, gpu, metav1.DeleteOptions{})).To(Succeed())
		Eventually(func() string { return schedulerMetrics(ctx) }).WithContext(ctx).ShouldNot(ContainSubstring(`node="` + gpu))
	})
})
