// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/test/cluster"
)

// plainNode creates a node for only the case's pods: eight cores, 32 GiB, and eight units of a scalar resource.
func (f *fixture) plainNode(ctx context.Context) {
	Expect(controlPlane.ApplyYAML(ctx, "plain node", fmt.Appendf(nil, `
apiVersion: v1
kind: Node
metadata: {name: %[1]s, labels: {fixture: %[1]s}}
status:
  allocatable: &all {cpu: "8", memory: 32Gi, example.com/npu: "8", pods: "50"}
  capacity: *all
`, f.namespace))).To(Succeed())
	cleanUp(kube.CoreV1().Nodes().Delete, f.namespace)
}

// limitedQueue creates a queue with limits of resources such as cpu.
func (f *fixture) limitedQueue(ctx context.Context, name, parent string, limit func(*upstreamv1beta1.QueueSpec)) string {
	return f.newQueue(ctx, name, parent, func(q *schedulingv1beta1.Queue) { limit(&q.Spec.QueueSpec) })
}

func amount(name corev1.ResourceName, quantity string) corev1.ResourceList {
	return corev1.ResourceList{name: resource.MustParse(quantity)}
}

// plain submits a job without claims for the fixture's own node. Requests are the requests of each pod.
func (f *fixture) plain(ctx context.Context, name, queue string, pods, available int32, requests corev1.ResourceList, priorityClass string, options ...podOption) {
	template := f.plainTemplate(requests, priorityClass, options...)
	f.plainTasks(ctx, name, queue, priorityClass, available, batchv1alpha1.TaskSpec{Name: "worker", Replicas: pods, Template: template})
}

func (f *fixture) plainTemplate(requests corev1.ResourceList, priorityClass string, options ...podOption) corev1.PodTemplateSpec {
	limits := requests.DeepCopy() // required for scalar resources
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](0),
		NodeSelector: map[string]string{"fixture": f.namespace}, PriorityClassName: priorityClass,
		Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/main:v1",
			Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}},
	}}
	template.Annotations = map[string]string{upstreamv1beta1.PodPreemptable: "true"}
	for _, option := range options {
		option(&template)
	}
	return template
}

// plainTasks submits a job of several tasks.
func (f *fixture) plainTasks(ctx context.Context, name, queue, priorityClass string, available int32, tasks ...batchv1alpha1.TaskSpec) {
	must(vc.BatchV1alpha1().Jobs(f.namespace).Create(ctx, &batchv1alpha1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       batchv1alpha1.JobSpec{SchedulerName: "volcano", Queue: queue, MinAvailable: available, PriorityClassName: priorityClass, Tasks: tasks},
	}, metav1.CreateOptions{}))
}

func (f *fixture) priorityClass(ctx context.Context, name string, value int32) string {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: f.namespace + "-" + name}, Value: value}
	must(kube.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}))
	DeferCleanup(func(ctx context.Context) error {
		return kube.SchedulingV1().PriorityClasses().Delete(ctx, class.Name, metav1.DeleteOptions{})
	})
	return class.Name
}

// expectWarning waits for a warning about an object.
func expectWarning(ctx context.Context, namespace, kind, name, reason, message string) {
	GinkgoHelper()
	Eventually(warningsOf).WithContext(ctx).WithArguments(ctx, namespace, kind, name).Should(ContainElement(SatisfyAll(HavePrefix(reason+": "), ContainSubstring(message))))
}

// Two queues together deserve all of the node's allocatable resources. Each pod requests a quarter of them.
var _ = DescribeTable("A queue takes back what it deserves, within its subtree, of", func(ctx context.Context, name corev1.ResourceName, half, quarter string) {
	f := newFixture(ctx)
	f.plainNode(ctx)
	deserves := func(q *upstreamv1beta1.QueueSpec) { q.Deserved = amount(name, half) }
	org := f.queue(ctx, "org", "root", nil)
	lender, borrower := f.limitedQueue(ctx, "lender", org, deserves), f.limitedQueue(ctx, "borrower", org, deserves)

	f.plain(ctx, "borrows", borrower, 4, 1, amount(name, quarter), "")
	f.expectRunning(ctx, "borrows", 4)
	f.plain(ctx, "owns", lender, 2, 2, amount(name, quarter), "")
	f.expectRunning(ctx, "owns", 2)
	f.expectRunning(ctx, "borrows", 2)

	By("leaving the other queue what it deserves")
	f.plain(ctx, "more", lender, 1, 1, amount(name, quarter), "")
	Eventually(func() int { return f.phase(ctx, "more", corev1.PodPending) }).WithContext(ctx).Should(Equal(1))
	before := cycles(ctx)
	Eventually(func() int { return cycles(ctx) }).WithContext(ctx).Should(BeNumerically(">", before+20))
	Expect(f.phase(ctx, "borrows", corev1.PodRunning)).To(Equal(2))
	Expect(f.phase(ctx, "more", corev1.PodPending)).To(Equal(1))
},
	Entry("cpu", corev1.ResourceCPU, "4", "2"),
	Entry("memory", corev1.ResourceMemory, "16Gi", "8Gi"),
	Entry("a scalar resource", corev1.ResourceName("example.com/npu"), "4", "2"),
)

var _ = DescribeTable("A pod of higher priority preempts another one in a queue that is full of", func(ctx context.Context, name corev1.ResourceName, all, half, reason string) {
	f := newFixture(ctx)
	f.plainNode(ctx)
	org := f.limitedQueue(ctx, "org", "root", func(q *upstreamv1beta1.QueueSpec) { q.Capability = amount(name, all) })
	queue := f.queue(ctx, "team", org, nil)
	low, high := f.priorityClass(ctx, "low", 1), f.priorityClass(ctx, "high", 1000)

	f.plain(ctx, "low", queue, 2, 1, amount(name, half), low)
	f.expectRunning(ctx, "low", 2)
	f.plain(ctx, "large", queue, 3, 3, amount(name, half), low)
	expectWarning(ctx, f.namespace, "PodGroup", f.podGroup(ctx, "large"), reason, fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <", org, name))
	Expect(f.pods(ctx, "large")).To(BeEmpty(), "a job that is not enqueued has no pods")
	f.plain(ctx, "equal", queue, 1, 1, amount(name, half), low)
	f.expectRefused(ctx, "equal", reason, fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <", org, name))
	f.deleteJob(ctx, "equal") // otherwise, it gets the resources that preemption frees

	f.plain(ctx, "high", queue, 1, 1, amount(name, half), high)
	f.expectRunning(ctx, "high", 1)
	f.expectRunning(ctx, "low", 1)
},
	Entry("cpu", corev1.ResourceCPU, "4", "2", "InsufficientCPUQuota"),
	Entry("memory", corev1.ResourceMemory, "8Gi", "4Gi", "InsufficientMemoryQuota"),
	Entry("a scalar resource", corev1.ResourceName("example.com/npu"), "4", "2", "InsufficientScalarQuota"),
)

var _ = DescribeTable("A pod that is being deleted counts until it has ended, in a queue that is full of", func(ctx context.Context, name corev1.ResourceName, all, half, reason, message string) {
	f := newFixture(ctx)
	f.plainNode(ctx)
	queue := f.limitedQueue(ctx, "team", "root", func(q *upstreamv1beta1.QueueSpec) { q.Capability = amount(name, all) })
	f.plain(ctx, "leaving", queue, 2, 2, amount(name, half), "", ending(500))
	f.expectRunning(ctx, "leaving", 2)
	f.deleteJob(ctx, "leaving")
	Eventually(func() bool {
		return !slices.ContainsFunc(f.pods(ctx, "leaving"), func(pod corev1.Pod) bool { return pod.DeletionTimestamp == nil })
	}).WithContext(ctx).Should(BeTrue())
	f.plain(ctx, "next", queue, 1, 1, amount(name, half), "")
	f.expectRefused(ctx, "next", reason, fmt.Sprintf("Queue <%s> has insufficient <%s> quota: %s", queue, name, message))
	waitForCycles(ctx)
	Expect(f.phase(ctx, "leaving", corev1.PodRunning)).To(Equal(2))
	Expect(f.phase(ctx, "next", corev1.PodRunning)).To(BeZero())

	for _, pod := range f.pods(ctx, "leaving") { // their node does this when they have ended
		Expect(kube.CoreV1().Pods(f.namespace).Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0))).To(Succeed())
	}
	f.expectRunning(ctx, "next", 1)
},
	Entry("cpu", corev1.ResourceCPU, "4", "2", "InsufficientCPUQuota", "requested <2>, total would be <6>, but capability is <4>"),
	Entry("a scalar resource", corev1.ResourceName("example.com/npu"), "4", "2", "InsufficientScalarQuota", "requested <2>, total would be <6>, but capability is <4>"),
)

var _ = Describe("A Deployment", func() {
	It("has pods that say why they wait, and runs once there is quota", func(ctx context.Context) {
		f := newFixture(ctx)
		f.plainNode(ctx)
		queue := f.limitedQueue(ctx, "team", "root", func(q *upstreamv1beta1.QueueSpec) { q.Capability = amount(corev1.ResourceCPU, "3") })
		labels := map[string]string{"app": "web"}
		must(kube.AppsV1().Deployments(f.namespace).Create(ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: appsv1.DeploymentSpec{
				Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{upstreamv1beta1.QueueNameAnnotationKey: queue}},
					Spec: corev1.PodSpec{SchedulerName: "volcano", TerminationGracePeriodSeconds: ptr.To[int64](0), NodeSelector: map[string]string{"fixture": f.namespace},
						Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/main:v1",
							Resources: corev1.ResourceRequirements{Requests: amount(corev1.ResourceCPU, "2")}}}},
				},
			},
		}, metav1.CreateOptions{}))
		message := fmt.Sprintf("Queue <%s> has insufficient <cpu> quota: requested <2>, total would be <4>, but capability is <3>", queue)
		Eventually(func(g Gomega) {
			pods, err := kube.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			running, explained := 0, 0
			for _, pod := range pods.Items {
				if pod.Status.Phase == corev1.PodRunning {
					running++
				}
				for _, condition := range pod.Status.Conditions {
					if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Message == message {
						explained++
					}
				}
			}
			g.Expect([]int{running, explained}).To(Equal([]int{1, 1}), "running pods, and pods whose condition has the reason")
		}).WithContext(ctx).Should(Succeed())

		changeQueue(ctx, queue, func(spec *schedulingv1beta1.QueueSpec) { spec.Capability = amount(corev1.ResourceCPU, "4") })
		Eventually(func() int32 {
			deployment := must(kube.AppsV1().Deployments(f.namespace).Get(ctx, "web", metav1.GetOptions{}))
			return deployment.Status.ReadyReplicas
		}).WithContext(ctx).Should(BeEquivalentTo(2))
	})
})

// podGroup waits for the PodGroup of a job, and returns its name.
func (f *fixture) podGroup(ctx context.Context, job string) string {
	GinkgoHelper()
	var name string
	Eventually(func(g Gomega) {
		object, err := vc.BatchV1alpha1().Jobs(f.namespace).Get(ctx, job, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		name = fmt.Sprintf("%s-%s", job, object.UID)
		_, err = vc.SchedulingV1beta1().PodGroups(f.namespace).Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}).WithContext(ctx).Should(Succeed())
	return name
}

var _ = Describe("An invalid queue", func() {
	It("is reported by an event and a metric, and affects no other queue", func(ctx context.Context) {
		f := newFixture(ctx)
		f.plainNode(ctx)
		lost := f.queue(ctx, "lost", f.namespace+"-gone", nil)
		tail, head := f.queue(ctx, "tail", f.namespace+"-head", nil), f.queue(ctx, "head", f.namespace+"-tail", nil)
		good := f.queue(ctx, "good", "root", nil)
		f.plain(ctx, "bad", lost, 1, 1, amount(corev1.ResourceCPU, "1"), "")
		f.plain(ctx, "good", good, 1, 1, amount(corev1.ResourceCPU, "1"), "")
		f.expectRunning(ctx, "good", 1)
		expectWarning(ctx, "default", "Queue", lost, "QueueMisplaced", "its parent "+f.namespace+"-gone does not exist: create that queue or change spec.parent")
		expectWarning(ctx, "default", "Queue", tail, "QueueMisplaced", "it is its own ancestor")
		expectWarning(ctx, "default", "Queue", head, "QueueMisplaced", "it is its own ancestor")
		expectWarning(ctx, f.namespace, "PodGroup", f.podGroup(ctx, "bad"), "Unschedulable", "Queue <"+lost+"> takes no pods")
		Eventually(func() string { return schedulerMetrics(ctx) }).WithContext(ctx).Should(ContainSubstring(`volcano_queue_problems{reason="QueueMisplaced"} 3`))

		By("working once it is corrected")
		f.queue(ctx, "gone", "root", nil)
		f.expectRunning(ctx, "bad", 1)
	})
})

func schedulerMetrics(ctx context.Context) string { return metricsOf(ctx, controlPlane) }

func metricsOf(ctx context.Context, c *cluster.Cluster) string {
	_, body := get(ctx, c.SchedulerMetricsURL())
	return body
}

// get returns the status code and the body of a URL.
func get(ctx context.Context, url string) (int, string) {
	request := must(http.NewRequestWithContext(ctx, http.MethodGet, url, nil))
	response := must(http.DefaultClient.Do(request))
	defer response.Body.Close()
	body := must(io.ReadAll(response.Body))
	return response.StatusCode, string(body)
}
