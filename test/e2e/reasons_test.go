// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
	"github.com/devicequota/devicequota/pkg/visibility/client"
)

// waiting returns the reason and message of the Waiting condition of a PodGroup, "" if there is none.
func (f *fixture) waiting(ctx context.Context, name string) string {
	group := must(vc.SchedulingV1beta1().PodGroups(f.namespace).Get(ctx, name, metav1.GetOptions{}))
	for _, c := range group.Status.Conditions {
		if c.Type == "Waiting" {
			Expect(c.Status).To(Equal(corev1.ConditionTrue))
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// expectListed waits until the list of workloads has one of an owner, written as "kind/name", that waits for a reason, as "reason: message".
func (f *fixture) expectListed(ctx context.Context, owner, want string) {
	GinkgoHelper()
	see := must(client.New(controlPlane.Config()))
	Eventually(func(g Gomega) {
		list, err := see.Workloads(ctx, f.namespace)
		g.Expect(err).NotTo(HaveOccurred())
		listed := map[string]string{}
		for _, w := range list.Items {
			if w.Owner != nil && w.Waits != nil {
				listed[w.Owner.Kind+"/"+w.Owner.Name] = w.Waits.Reason + ": " + w.Waits.Message
			}
		}
		g.Expect(listed).To(HaveKeyWithValue(owner, ContainSubstring(want)))
	}).WithContext(ctx).Should(Succeed())
}

// expectWaiting waits until the PodGroup of a job has a Waiting condition as "reason: message", or none if want is empty.
func (f *fixture) expectWaiting(ctx context.Context, job, want string) {
	GinkgoHelper()
	group := f.podGroup(ctx, job)
	Eventually(func() string { return f.waiting(ctx, group) }).WithContext(ctx).Should(Equal(want))
	if _, message, waits := strings.Cut(want, ": "); waits {
		f.expectCause(ctx, "podgroups", group, message)
	}
}

// warnings returns the reasons of the warnings about an object.
func (f *fixture) warnings(ctx context.Context, name string) []string {
	return eventsIn(ctx, f.namespace, "involvedObject.name="+name+",type=Warning")
}

// group creates a PodGroup and its pods, which request one core each. The PodGroup needs all of them.
func (f *fixture) group(ctx context.Context, name, queue string, pods ...string) {
	GinkgoHelper()
	group := &upstreamv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
	group.Spec.Queue, group.Spec.MinMember, group.Spec.MinResources = queue, int32(len(pods)), ptr.To(cores(len(pods)))
	must(vc.SchedulingV1beta1().PodGroups(f.namespace).Create(ctx, group, metav1.CreateOptions{}))
	for _, pod := range pods {
		f.member(ctx, pod, name)
	}
}

// member creates a pod of a PodGroup.
func (f *fixture) member(ctx context.Context, name, group string) {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{upstreamv1beta1.KubeGroupNameAnnotationKey: group}}}
	pod.Spec = corev1.PodSpec{
		SchedulerName: "volcano", RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](0),
		Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/main:v1", Resources: corev1.ResourceRequirements{Requests: cores(1)}}},
	}
	must(kube.CoreV1().Pods(f.namespace).Create(ctx, pod, metav1.CreateOptions{}))
}

func cores(n int) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(n), resource.DecimalSI)}
}

var _ = Describe("Why something waits", func() {
	var f *fixture

	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	It("is in a condition of the PodGroup of a job that is not admitted, and in one event", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 1))
		f.submit(ctx, gang("large", queue, 2))
		why := "InsufficientScalarQuota: " + insufficient(queue, f.class, 2, 2, 1)
		f.expectWaiting(ctx, "large", why)
		version := func() string {
			return must(vc.SchedulingV1beta1().PodGroups(f.namespace).Get(ctx, f.podGroup(ctx, "large"), metav1.GetOptions{})).ResourceVersion
		}
		written := version()
		waitForCycles(ctx)
		Expect(version()).To(Equal(written), "the PodGroup is written although nothing has changed")
		Expect(f.warnings(ctx, f.podGroup(ctx, "large"))).To(ConsistOf(why))

		setQuota(ctx, queue, limit(f.class, 2))
		f.expectRunning(ctx, "large", 2)
		f.expectWaiting(ctx, "large", "")
	})

	It("is that no node is large enough, before the quota", func(ctx context.Context) {
		f.gpuNode(ctx, "h100", h100, 8)
		team := f.cardQueue(ctx, "team", "root", `{"NVIDIA-H100-80GB": 8}`)
		changeQueue(ctx, team, func(spec *schedulingv1beta1.QueueSpec) { spec.Capability = cores(4) })
		f.cardJob(ctx, "large", team, cardTask{names: h100, cpu: "6000"})
		f.expectNotEnqueued(ctx, "large", "NeverFits", "No node has as much <cpu> as a pod requests, which is <6000>: the largest has <")
		f.expectNotEnqueued(ctx, "large", "NeverFits", insufficient(team, "cpu", 6000, 6000, 4))
	})

	It("is that no node has the labels that it selects, before the quota", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 2))
		f.submit(ctx, gang("lost", queue, 3).onNode("mars"))
		f.expectNotEnqueued(ctx, "lost", "NeverFits",
			"No node has the labels that a pod selects: <kubernetes.io/hostname=mars>. Queue <"+queue+"> has insufficient <"+f.class+"> quota")
	})

	It("is in one event on the PodGroup of a job that has pods and is not admitted, and in one on each pod", func(ctx context.Context) {
		queue := f.limitedQueue(ctx, "team", "root", func(q *upstreamv1beta1.QueueSpec) { q.Capability = cores(1) })
		// Otherwise, the scheduler may read the PodGroup before the queue, and report a missing queue.
		expectMetric(ctx, fmt.Sprintf("volcano_queue_capacity_milli_cpu{queue_name=%q} 1000", queue))
		f.group(ctx, "large", queue, "a", "b")
		why := "InsufficientCPUQuota: " + insufficient(queue, "cpu", 2, 2, 1)
		Eventually(func() string { return f.waiting(ctx, "large") }).WithContext(ctx).Should(Equal(why))
		for _, name := range []string{"large", "a", "b"} {
			Eventually(func() []string { return f.warnings(ctx, name) }).WithContext(ctx).Should(ConsistOf(why), "warnings on %s", name)
		}
		waitForCycles(ctx)
		for _, name := range []string{"large", "a", "b"} {
			Expect(f.warnings(ctx, name)).To(ConsistOf(why), "warnings on %s after more cycles", name)
		}
		group := must(vc.SchedulingV1beta1().PodGroups(f.namespace).Get(ctx, "large", metav1.GetOptions{}))
		Expect(group.Status.Phase).To(Equal(upstreamv1beta1.PodGroupPending))
		Expect(group.Status.Conditions).To(ContainElement(And(
			HaveField("Type", upstreamv1beta1.PodGroupUnschedulableType), HaveField("Message", HavePrefix("2/2 tasks in gang unschedulable")),
		)), "Volcano's own condition")

		changeQueue(ctx, queue, func(spec *schedulingv1beta1.QueueSpec) { spec.Capability = cores(2) })
		f.expectPodRuns(ctx, "a")
		f.expectPodRuns(ctx, "b")
		Eventually(func() string { return f.waiting(ctx, "large") }).WithContext(ctx).Should(BeEmpty())
	})

	It("is a missing queue only as long as a pod waits", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", nil)
		changeQueue(ctx, queue, func(spec *schedulingv1beta1.QueueSpec) { spec.Capability = cores(1) })
		f.group(ctx, "grows", queue, "first")
		f.expectPodRuns(ctx, "first")
		f.member(ctx, "second", "grows")
		Eventually(func() string { return f.waiting(ctx, "grows") }).WithContext(ctx).Should(HavePrefix("InsufficientCPUQuota: "))
		Expect(queues.SchedulingV1beta1().Queues().Delete(ctx, queue, metav1.DeleteOptions{})).To(Succeed())
		Eventually(func() string { return f.waiting(ctx, "grows") }).WithContext(ctx).Should(HavePrefix("QueueNotFound: "))
		Expect(kube.CoreV1().Pods(f.namespace).Delete(ctx, "second", metav1.DeleteOptions{})).To(Succeed())
		Eventually(func() string { return f.waiting(ctx, "grows") }).WithContext(ctx).Should(BeEmpty())
	})

	It("is in conditions of the pod and of its PodGroup, and in one event on the pod", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 2))
		f.submit(ctx, gang("grows", queue, 3).startingWith(1))
		f.expectRunning(ctx, "grows", 2)
		why := insufficient(queue, f.class, 1, 3, 2)
		f.expectWaiting(ctx, "grows", "InsufficientScalarQuota: "+why)
		f.expectPodWarnings(ctx, "grows", 1, "InsufficientScalarQuota", why)
		for _, pod := range f.pods(ctx, "grows") {
			if pod.Status.Phase != corev1.PodPending {
				continue
			}
			var told []string
			for _, warning := range f.warnings(ctx, pod.Name) {
				if warning == "FailedScheduling: "+why || warning == "InsufficientScalarQuota: "+why {
					told = append(told, warning)
				}
			}
			Expect(told).To(ConsistOf("InsufficientScalarQuota: " + why))
		}
		setQuota(ctx, queue, limit(f.class, 3))
		f.expectRunning(ctx, "grows", 3)
		f.expectWaiting(ctx, "grows", "")
	})

	It("says how much admitted jobs may still take", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 8))
		f.submit(ctx, gang("early", queue, 8).onNode("nowhere"))
		Eventually(func() int { return f.phase(ctx, "early", corev1.PodPending) }).WithContext(ctx).Should(Equal(8))
		f.submit(ctx, gang("late", queue, 1))
		f.expectNotEnqueued(ctx, "late", "InsufficientScalarQuota", fmt.Sprintf(
			"Queue <%s> has insufficient <%s> quota: requested <1>, total would be <9> (<0> allocated, <8> let in), but capability is <8>", queue, f.class))
	})

	It("is a queue that does not exist, until the queue is created", func(ctx context.Context) {
		name := f.name("later")
		pod := f.pod(ctx, "early", name, func(*corev1.PodSpec) {})
		group := "podgroup-" + string(pod.UID)
		why := "Queue <" + name + "> does not exist: create the queue, or submit the job to another one"
		expectWarning(ctx, f.namespace, "PodGroup", group, "QueueNotFound", why)
		expectWarning(ctx, f.namespace, "Pod", "early", "QueueNotFound", why)
		Eventually(func() string { return f.waiting(ctx, group) }).WithContext(ctx).Should(Equal("QueueNotFound: " + why))

		f.queue(ctx, "later", "root", nil)
		Eventually(func(g Gomega) {
			pod, err := kube.CoreV1().Pods(f.namespace).Get(ctx, "early", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
			g.Expect(f.waiting(ctx, group)).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
	})

	It("is a queue that does not exist, of a Volcano Job, which gets no PodGroup", func(ctx context.Context) {
		name := f.name("later")
		f.submit(ctx, gang("early", name, 1))
		why := "Queue <" + name + "> does not exist: create the queue, or submit the job to another one"
		expectWarning(ctx, f.namespace, "Job", "early", "QueueNotFound", why)
		f.expectCause(ctx, "jobs", "early", why)
		f.expectListed(ctx, "Job/early", "QueueNotFound: "+why)
		Expect(vc.SchedulingV1beta1().PodGroups(f.namespace).List(ctx, metav1.ListOptions{})).To(HaveField("Items", BeEmpty()))
	})

	It("is another scheduler, of a Volcano Job, which holds nothing", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 2))
		for name, scheduler := range map[string]string{"theirs": "theirs", "kubernetes": "default-scheduler"} {
			job := f.jobOf(gang(name, queue, 2))
			job.Spec.SchedulerName = scheduler
			must(vc.BatchV1alpha1().Jobs(f.namespace).Create(ctx, job, metav1.CreateOptions{}))
			f.expectListed(ctx, "Job/"+name, `Unschedulable: The job is for scheduler "`+scheduler+`": set spec.schedulerName to volcano`)
		}
		f.expectNotEnqueued(ctx, "kubernetes", "Unschedulable", `The job is for scheduler "default-scheduler": set spec.schedulerName to volcano`)
		Expect(f.warnings(ctx, f.podGroup(ctx, "theirs"))).NotTo(ContainElement(ContainSubstring("The job is for")), "the other scheduler may have it")
		f.submit(ctx, gang("ours", queue, 2))
		f.expectRunning(ctx, "ours", 2)
	})

	It("is a PodGroup that does not exist, of a pod", func(ctx context.Context) {
		astray := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "astray", Annotations: map[string]string{upstreamv1beta1.KubeGroupNameAnnotationKey: "no-such"}}}
		astray.Spec.SchedulerName = "volcano"
		astray.Spec.Containers = []corev1.Container{{Name: "main", Image: "registry.example.com/main:v1"}}
		must(kube.CoreV1().Pods(f.namespace).Create(ctx, astray, metav1.CreateOptions{}))
		why := "PodGroup " + f.namespace + "/no-such does not exist"
		f.expectCause(ctx, "pods", "astray", why)
		f.expectListed(ctx, "Pod/astray", ": "+why)
	})

	It("is a queue that is deleted while pods wait, and no longer what it was before", func(ctx context.Context) {
		queue := f.queue(ctx, "team", "root", limit(f.class, 2))
		f.submit(ctx, gang("grows", queue, 3).startingWith(1))
		f.expectRunning(ctx, "grows", 2)
		f.expectPodWarnings(ctx, "grows", 1, "InsufficientScalarQuota", insufficient(queue, f.class, 1, 3, 2))
		Expect(queues.SchedulingV1beta1().Queues().Delete(ctx, queue, metav1.DeleteOptions{})).To(Succeed())
		why := "Queue <" + queue + "> does not exist: create the queue, or submit the job to another one"
		f.expectPodWarnings(ctx, "grows", 1, "QueueNotFound", why)
		f.expectWaiting(ctx, "grows", "QueueNotFound: "+why)

		f.queue(ctx, "team", "root", limit(f.class, 3))
		f.expectRunning(ctx, "grows", 3)
		f.expectWaiting(ctx, "grows", "")
	})
})
