// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// fixture has the objects of one case.
type fixture struct {
	namespace string
	// class is a DeviceClass with all devices of config/samples/cluster.
	class string
	// kube is a client of the cluster of the case.
	kube kubernetes.Interface
}

// sampleDriver is a CEL expression that selects the devices of config/samples/cluster.
const sampleDriver = `device.driver == "gpu.example.com"`

func newFixture(ctx context.Context) *fixture {
	ns := must(kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}, metav1.CreateOptions{}))
	DeferCleanup(deleteNamespace, ns.Name)
	f := &fixture{namespace: ns.Name, class: ns.Name + "-h100", kube: kube}
	createClass(ctx, f.class, sampleDriver)
	f.template(ctx, "one", exactly(f.class, 1))
	return f
}

// must returns the result of a call, which must succeed.
func must[T any](result T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return result
}

// deleteNamespace deletes a namespace, and waits until its pods and claims are gone and their devices are free. It does not wait
// for the deletion of the namespace, which takes longer.
func deleteNamespace(ctx context.Context, name string) {
	all, now := metav1.ListOptions{}, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	Expect(vc.BatchV1alpha1().Jobs(name).DeleteCollection(ctx, metav1.DeleteOptions{}, all)).To(Succeed())
	Expect(kube.AppsV1().Deployments(name).DeleteCollection(ctx, metav1.DeleteOptions{}, all)).To(Succeed())
	background := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
	Expect(kube.BatchV1().Jobs(name).DeleteCollection(ctx, background, all)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(kube.CoreV1().Pods(name).DeleteCollection(ctx, now, all)).To(Succeed())
		g.Expect(kube.ResourceV1().ResourceClaims(name).DeleteCollection(ctx, now, all)).To(Succeed())
		pods, err := kube.CoreV1().Pods(name).List(ctx, all)
		g.Expect(err).NotTo(HaveOccurred())
		claims, err := kube.ResourceV1().ResourceClaims(name).List(ctx, all)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(len(pods.Items)+len(claims.Items)).To(BeZero(), "pods and claims of namespace %s", name)
	}).WithContext(ctx).Should(Succeed())
	Expect(kube.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
}

// createClass creates a DeviceClass of the devices for which a CEL expression is true.
func createClass(ctx context.Context, name, expression string, change ...func(*resourcev1.DeviceClass)) {
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
	for _, c := range change {
		c(class)
	}
	must(kube.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{}))
	cleanUp(kube.ResourceV1().DeviceClasses().Delete, name)
}

// cleanUp deletes an object without a namespace after the case, which may have deleted it.
func cleanUp(remove func(context.Context, string, metav1.DeleteOptions) error, name string) {
	DeferCleanup(func(ctx context.Context) error { return ignoreNotFound(remove(ctx, name, metav1.DeleteOptions{})) })
}

// queue creates a queue below parent. The case's namespace makes its name unique. Dra may be nil.
func (f *fixture) queue(ctx context.Context, name, parent string, dra *schedulingv1beta1.DRAQuota) string {
	return f.newQueue(ctx, name, parent, func(q *schedulingv1beta1.Queue) { q.Spec.DRA = dra })
}

func (f *fixture) newQueue(ctx context.Context, name, parent string, change ...func(*schedulingv1beta1.Queue)) string {
	q := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: f.name(name), Annotations: map[string]string{}}}
	q.Spec.Parent, q.Spec.Weight = parent, 1
	for _, c := range change {
		c(q)
	}
	must(queues.SchedulingV1beta1().Queues().Create(ctx, q, metav1.CreateOptions{}))
	cleanUp(queues.SchedulingV1beta1().Queues().Delete, q.Name)
	return q.Name
}

func getQueue(ctx context.Context, name string) *schedulingv1beta1.Queue {
	return must(queues.SchedulingV1beta1().Queues().Get(ctx, name, metav1.GetOptions{}))
}

// updater is a client of a kind.
type updater[T any] interface {
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
}

// update changes an object, and retries on conflicts.
func update[T any](ctx context.Context, client updater[T], name string, change func(T)) {
	GinkgoHelper()
	Eventually(func() error {
		object := must(client.Get(ctx, name, metav1.GetOptions{}))
		change(object)
		_, err := client.Update(ctx, object, metav1.UpdateOptions{})
		return err
	}).WithContext(ctx).Should(Succeed())
}

func changeQueue(ctx context.Context, name string, change func(*schedulingv1beta1.QueueSpec)) {
	update(ctx, queues.SchedulingV1beta1().Queues(), name, func(q *schedulingv1beta1.Queue) { change(&q.Spec) })
}

func setQuota(ctx context.Context, name string, dra *schedulingv1beta1.DRAQuota) {
	changeQueue(ctx, name, func(spec *schedulingv1beta1.QueueSpec) { spec.DRA = dra })
}

// job describes a Volcano Job with pods of one claim each.
type job struct {
	name, queue  string
	pods         int32
	minAvailable int32
	// runFor is how long pods run. Zero means until they are deleted.
	runFor time.Duration
	// template is the template of the pods' claims. Claim is a claim that they share. One of them is set.
	template, claim string
	// bestEffort says that pods request no cpu. The backfill action places them.
	bestEffort bool
	priority   string
	// node is the host name of the node for the pods. Empty means any node.
	node string
}

func gang(name, queue string, pods int32) job {
	return job{name: name, queue: queue, pods: pods, minAvailable: pods, template: "one"}
}

func (j job) runningFor(d time.Duration) job   { j.runFor = d; return j }
func (j job) fromTemplate(name string) job     { j.template, j.claim = name, ""; return j }
func (j job) usingClaim(name string) job       { j.template, j.claim = "", name; return j }
func (j job) withoutRequests() job             { j.bestEffort = true; return j }
func (j job) withPriority(class string) job    { j.priority = class; return j }
func (j job) onNode(name string) job           { j.node = name; return j }
func (j job) startingWith(available int32) job { j.minAvailable = available; return j }

func (f *fixture) submit(ctx context.Context, j job) {
	must(vc.BatchV1alpha1().Jobs(f.namespace).Create(ctx, f.jobOf(j), metav1.CreateOptions{}))
}

func (f *fixture) jobOf(j job) *batchv1alpha1.Job {
	container := corev1.Container{Name: "main", Image: "registry.example.com/main:v1", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}
	if !j.bestEffort {
		container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	}
	podClaim := corev1.PodResourceClaim{Name: "gpu", ResourceClaimTemplateName: ptr.To(j.template)}
	if j.claim != "" {
		podClaim.ResourceClaimName, podClaim.ResourceClaimTemplateName = ptr.To(j.claim), nil
	}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container},
		ResourceClaims: []corev1.PodResourceClaim{podClaim}, TerminationGracePeriodSeconds: ptr.To[int64](0), PriorityClassName: j.priority,
	}}
	if j.claim == "" && j.template == "" {
		template.Spec.ResourceClaims, template.Spec.Containers[0].Resources.Claims = nil, nil
	}
	template.Annotations = map[string]string{upstreamv1beta1.PodPreemptable: "true"}
	if j.node != "" {
		template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: j.node}
	}
	if j.runFor > 0 {
		template.Annotations["devicequota.io/run-for"] = j.runFor.String()
	}
	return &batchv1alpha1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: batchv1alpha1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: j.name},
		Spec: batchv1alpha1.JobSpec{
			SchedulerName: "volcano", Queue: j.queue, MinAvailable: j.minAvailable, PriorityClassName: j.priority,
			Tasks: []batchv1alpha1.TaskSpec{{Name: "worker", Replicas: j.pods, Template: template}},
		},
	}
}

func (f *fixture) deleteJob(ctx context.Context, name string) {
	Expect(vc.BatchV1alpha1().Jobs(f.namespace).Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
}

// pods returns the pods of a job.
func (f *fixture) pods(ctx context.Context, name string) []corev1.Pod {
	return must(kube.CoreV1().Pods(f.namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1alpha1.JobNameKey + "=" + name})).Items
}

// phase returns the number of pods of a job in a phase.
func (f *fixture) phase(ctx context.Context, name string, phase corev1.PodPhase) int {
	n := 0
	for _, pod := range f.pods(ctx, name) {
		if pod.Status.Phase == phase {
			n++
		}
	}
	return n
}

func (f *fixture) expectRunning(ctx context.Context, name string, n int) {
	GinkgoHelper()
	Eventually(func() int { return f.phase(ctx, name, corev1.PodRunning) }).WithContext(ctx).Should(Equal(n), "running pods of job %s", name)
}

func (f *fixture) expectSucceeded(ctx context.Context, name string, n int) {
	GinkgoHelper()
	Eventually(func() int { return f.phase(ctx, name, corev1.PodSucceeded) }).WithContext(ctx).Should(Equal(n), "succeeded pods of job %s", name)
}

// eventsIn returns "reason: message" of each event in a namespace that a field selector selects.
func eventsIn(ctx context.Context, namespace, selector string) []string {
	GinkgoHelper()
	return eventsFrom(ctx, kube, namespace, selector)
}

// eventsFrom is eventsIn for any cluster.
func eventsFrom(ctx context.Context, kube kubernetes.Interface, namespace, selector string) (all []string) {
	GinkgoHelper()
	for _, e := range must(kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})).Items {
		all = append(all, e.Reason+": "+e.Message)
	}
	return all
}

// warningsOf returns "reason: message" of each warning about an object.
func warningsOf(ctx context.Context, namespace, kind, name string) []string {
	GinkgoHelper()
	return eventsIn(ctx, namespace, "type=Warning,involvedObject.kind="+kind+",involvedObject.name="+name)
}

// expectNotEnqueued waits until the PodGroup of a job has an event with a reason and message, and checks that the job has no pods.
func (f *fixture) expectNotEnqueued(ctx context.Context, name, reason, message string) {
	GinkgoHelper()
	expectWarning(ctx, f.namespace, "PodGroup", f.podGroup(ctx, name), reason, message)
	Expect(f.pods(ctx, name)).To(BeEmpty(), "a job that is not enqueued has no pods")
	f.expectCause(ctx, "podgroups", f.podGroup(ctx, name), message)
}

// expectRefused waits until a pod of the job has an event with a reason and message, and checks that no pod of the job has a node.
func (f *fixture) expectRefused(ctx context.Context, name, reason, message string) {
	GinkgoHelper()
	f.expectPodWarnings(ctx, name, 1, reason, message)
	for _, pod := range f.pods(ctx, name) {
		Expect(pod.Spec.NodeName).To(BeEmpty(), "pod %s was bound", pod.Name)
	}
	f.expectCause(ctx, "podgroups", f.podGroup(ctx, name), message)
}

// expectPodWarnings waits until at least n pods of the job have an event with a reason and message, and a PodScheduled condition
// with the same message.
func (f *fixture) expectPodWarnings(ctx context.Context, name string, n int, reason, message string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		events, err := kube.CoreV1().Events(f.namespace).List(ctx, metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		messages := map[string]string{}
		for _, event := range events.Items {
			if event.Reason == reason && event.Type == corev1.EventTypeWarning {
				messages[event.InvolvedObject.Name] += event.Message + "\n"
			}
		}
		explained := 0
		for _, pod := range f.pods(ctx, name) {
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodScheduled && strings.Contains(condition.Message, message) && strings.Contains(messages[pod.Name], message) {
					explained++
				}
			}
		}
		g.Expect(explained).To(BeNumerically(">=", n), "pods of job %s that say %q; events: %v", name, message, messages)
	}).WithContext(ctx).Should(Succeed())
}

func insufficient(queue, class string, requested, total, capability int) string {
	why := fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <%d>, total would be <%d>, but capability is <%d>",
		queue, class, requested, total, capability)
	if capability > 0 && requested > capability {
		why += "; this does not fit even when the queue is empty: ask for less, or for more quota"
	}
	return why
}
