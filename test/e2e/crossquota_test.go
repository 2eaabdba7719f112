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

// crossquotaConfig has no other plugin that ranks nodes, so that scores can be computed by hand.
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

	newSite := func(ctx context.Context) *site {
		namespace, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "xq-"}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		return &site{&scene{namespace: namespace.Name, kube: kube}}
	}

	It("lets pods without GPU have a GPU node up to the quota, and tells the next one why it waits", func(ctx context.Context) {
		s := newSite(ctx)
		gpu, plain := s.node(ctx, "gpu", "nvidia.com/gpu: 8"), s.node(ctx, "plain", "")
		for i := range 4 {
			s.run(ctx, fmt.Sprint("web-", i), gpu, "1")
		}
		s.create(ctx, "web-4", gpu, "1")
		s.expectWaits(ctx, "web-4", fmt.Sprintf("node %s has a quota of 4 cores of cpu for pods without GPU, they use 4 cores, and 1 core more requested is too much: "+
			"wait, request less, or raise annotation volcano.sh/crossquota-cpu of the node", gpu))

		By("leaving GPU pods, pods outside the selector and other nodes alone")
		s.run(ctx, "train", gpu, "2", requesting("nvidia.com/gpu"))
		s.create(ctx, "system", gpu, "1", labelled("example.com/system"))
		s.expectPodRuns(ctx, "system")
		s.run(ctx, "elsewhere", plain, "6")
		s.expectMetric(ctx, "used", gpu, "cpu", 4)
		s.expectMetric(ctx, "quota", gpu, "cpu", 4)
		Expect(schedulerMetrics(ctx)).NotTo(ContainSubstring(`volcano_crossquota_quota{node="` + plain))

		By("letting the next one in when one is gone")
		s.remove(ctx, "web-0")
		s.expectPodRuns(ctx, "web-4")
	})

	It("counts pods that another scheduler has placed", func(ctx context.Context) {
		s := newSite(ctx)
		gpu := s.node(ctx, "gpu", "nvidia.com/gpu: 8")
		s.run(ctx, "foreign", gpu, "3500m", func(pod *corev1.Pod) { pod.Spec.NodeName, pod.Spec.SchedulerName = gpu, "somebody" })
		s.create(ctx, "web", gpu, "1")
		s.expectWaits(ctx, "web", "they use 3.5 cores, and 1 core more requested is too much")
		s.remove(ctx, "foreign")
		s.expectPodRuns(ctx, "web")
	})

	It("follows the node's annotations while pods run", func(ctx context.Context) {
		s := newSite(ctx)
		gpu := s.node(ctx, "gpu", "nvidia.com/gpu: 8")
		s.annotate(ctx, gpu, "percentage-cpu", "25")
		s.run(ctx, "web-0", gpu, "1")
		s.run(ctx, "web-1", gpu, "1")
		s.create(ctx, "web-2", gpu, "1")
		s.expectWaits(ctx, "web-2", "has a quota of 2 cores of cpu")
		s.annotate(ctx, gpu, "cpu", "3000m")
		s.expectPodRuns(ctx, "web-2")

		By("evicting nobody when the quota is lowered")
		s.annotate(ctx, gpu, "cpu", "1")
		s.create(ctx, "web-3", gpu, "1")
		s.expectWaits(ctx, "web-3", "has a quota of 1 core of cpu for pods without GPU, they use 3 cores")
		s.create(ctx, "memory", gpu, "0", func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests = amount(corev1.ResourceMemory, "1Gi")
		})
		s.expectPodRuns(ctx, "memory")
		for i := range 3 {
			s.expectPodRuns(ctx, fmt.Sprint("web-", i))
		}

		By("telling the node what is wrong with an annotation, and falling to the next")
		s.annotate(ctx, gpu, "cpu", "lots")
		s.expectWaits(ctx, "web-3", "has a quota of 2 cores of cpu")
		const lots = `annotation volcano.sh/crossquota-cpu is "lots": it is no quantity`
		s.expectEvents(ctx, "default", "Node", gpu, "InvalidCrossQuota", lots)
		s.annotate(ctx, gpu, "percentage-cpu", "200")
		s.expectPodRuns(ctx, "web-3") // the argument counts now
		s.expectEvents(ctx, "default", "Node", gpu, "InvalidCrossQuota", "Node <"+gpu+">: "+lots,
			`annotation volcano.sh/crossquota-percentage-cpu is "200": it is not between 0 and 100`)
	})

	// Of cpu 1 and 1.5 cores of 4 are used, of memory 16 and 0 of 32Gi. With the pod's 1 core and 2Gi
	// the nodes score 10 * (10 * 2/4 + 1 * 18/32) / 11 = 5.06 and 10 * (10 * 2.5/4 + 1 * 2/32) / 11 = 5.74
	// when the most allocated come first, 10 less that when the least do.
	DescribeTable("steers pods by", func(ctx context.Context, strategy string, want int) {
		s := newSite(ctx)
		nodes := []string{s.node(ctx, "wide", "nvidia.com/gpu: 8"), s.node(ctx, "busy", "nvidia.com/gpu: 8"), s.node(ctx, "plain", "")}
		s.run(ctx, "holds-0", nodes[0], "1", withMemory("16Gi"))
		s.run(ctx, "holds-1", nodes[1], "1500m")
		s.create(ctx, "web", "", "1", withMemory("2Gi"), func(pod *corev1.Pod) { pod.Annotations["volcano.sh/crossquota-scoring-strategy"] = strategy })
		s.expectPodRuns(ctx, "web")
		pod, err := kube.CoreV1().Pods(s.namespace).Get(ctx, "web", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(pod.Spec.NodeName).To(Equal(nodes[want]))
		if strategy == "fastest" {
			s.expectEvents(ctx, s.namespace, "Pod", "web", "UnknownScoringStrategy", `Annotation volcano.sh/crossquota-scoring-strategy is "fastest"`)
		}
	},
		Entry("most-allocated", "most-allocated", 1),
		Entry("least-allocated", "least-allocated", 0),
		Entry("the default where the strategy is unknown", "fastest", 1),
	)

	It("holds together with the quotas of queues", func(ctx context.Context) {
		s := newSite(ctx)
		gpu := s.node(ctx, "gpu", "nvidia.com/gpu: 8")
		queue := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
		queue.Spec.Parent, queue.Spec.Weight, queue.Spec.Capability = "root", 1, amount(corev1.ResourceCPU, "3")
		_, err := queues.SchedulingV1beta1().Queues().Create(ctx, queue, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		inQueue := func(pod *corev1.Pod) { pod.Annotations["scheduling.volcano.sh/queue-name"] = queue.Name }

		s.run(ctx, "team-0", gpu, "2", inQueue)
		s.create(ctx, "team-1", gpu, "2", inQueue) // the node would have room
		s.expectWaits(ctx, "team-1", fmt.Sprintf("Queue <%s> has insufficient <cpu> quota: requested <2>, total would be <4>, but capability is <3>", queue.Name))
		s.run(ctx, "other", gpu, "1500m")
		s.create(ctx, "team-2", gpu, "1", inQueue) // the queue would have room
		s.expectWaits(ctx, "team-2", "has a quota of 4 cores of cpu for pods without GPU, they use 3.5 cores")
		s.remove(ctx, "other")
		s.expectPodRuns(ctx, "team-2")
	})

	It("lets a pod of higher priority take the place of others, and of no more than it needs", func(ctx context.Context) {
		s := newSite(ctx)
		gpu := s.node(ctx, "gpu", "nvidia.com/gpu: 8")
		for name, value := range map[string]int32{"low": 1, "high": 1000} {
			_, err := kube.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}, metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
		}
		priority := func(class string) func(*corev1.Pod) {
			return func(pod *corev1.Pod) { pod.Spec.PriorityClassName = class }
		}
		for i := range 4 {
			s.run(ctx, fmt.Sprint("low-", i), gpu, "1", priority("low"))
		}
		s.create(ctx, "equal", gpu, "1", priority("low"))
		s.expectWaits(ctx, "equal", "they use 4 cores")
		s.remove(ctx, "equal")

		By("the node having resources to spare all the time")
		s.run(ctx, "high", gpu, "2", priority("high"))
		pods, err := kube.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, pod := range pods.Items {
			names = append(names, pod.Name)
		}
		Expect(names).To(ConsistOf("high", HavePrefix("low-"), HavePrefix("low-")))
		s.expectMetric(ctx, "used", gpu, "cpu", 4)

		s.create(ctx, "too-much", gpu, "5", priority("high"))
		s.expectWaits(ctx, "too-much", "is too much: request less, or raise")
	})

	It("evicts for the quota only pods that hold some of it, on a node that the pod can be on", func(ctx context.Context) {
		s := newSite(ctx)
		gpu, other := s.node(ctx, "gpu", "nvidia.com/gpu: 8"), s.node(ctx, "other", "nvidia.com/gpu: 8")
		classed := func(class string) func(*corev1.Pod) {
			return func(pod *corev1.Pod) { pod.Spec.PriorityClassName = class }
		}
		for name, value := range map[string]int32{"lowest": 1, "lower": 2, "higher": 1000} {
			class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-" + name}, Value: value}
			_, err := kube.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
		}
		s.run(ctx, "train", gpu, "2", requesting("nvidia.com/gpu"), classed(s.namespace+"-lowest"))
		s.run(ctx, "system", gpu, "1", labelled("example.com/system"), classed(s.namespace+"-lowest"))
		s.run(ctx, "batch", gpu, "4", classed(s.namespace+"-lower"))
		s.run(ctx, "elsewhere", other, "4", withMemory("16Gi"), classed(s.namespace+"-lowest"))

		s.run(ctx, "high", gpu, "2", classed(s.namespace+"-higher"))
		pods, err := kube.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, pod := range pods.Items {
			names = append(names, pod.Name)
		}
		Expect(names).To(ConsistOf("train", "system", "elsewhere", "high"))
	})

	It("counts devices of DRA as GPUs", func(ctx context.Context) {
		s := newSite(ctx)
		dra := s.node(ctx, "dra", "")
		class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "xq-gpu"}}
		class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "xq.example.com"`}}}
		_, err := kube.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		s.run(ctx, "before", dra, "1")
		_, err = kube.ResourceV1().ResourceSlices().Create(ctx, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: dra}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "xq.example.com", NodeName: ptr.To(dra), Pool: resourcev1.ResourcePool{Name: dra, ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "gpu-0"}},
		}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = kube.ResourceV1().ResourceClaimTemplates(s.namespace).Create(ctx, &resourcev1.ResourceClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: asking(exactly("xq-gpu", 1))}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		s.expectMetric(ctx, "used", dra, "cpu", 1)
		s.create(ctx, "web", dra, "3500m")
		s.expectWaits(ctx, "web", "they use 1 core, and 3.5 cores more requested")
		s.run(ctx, "train", dra, "5", func(pod *corev1.Pod) {
			pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}
			pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
		})
		s.expectMetric(ctx, "used", dra, "cpu", 1)
	})

	It("forgets nodes that are gone", func(ctx context.Context) {
		s := newSite(ctx)
		gpu := s.node(ctx, "gpu", "nvidia.com/gpu: 8")
		s.expectMetric(ctx, "quota", gpu, "memory", 32<<30)
		Expect(kube.CoreV1().Nodes().Delete(ctx, gpu, metav1.DeleteOptions{})).To(Succeed())
		Eventually(func() string { return schedulerMetrics(ctx) }).WithContext(ctx).ShouldNot(ContainSubstring(`node="` + gpu))
	})
})
