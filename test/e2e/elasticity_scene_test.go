// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// scene is the set-up of one scenario: queues, nodes with devices of its own, and groups of pods. The label of a pod is the name of its group.
type scene struct {
	*fixture
	record *podRecord
	// asked is the number of pods that the scenario has requested, directly or from controllers.
	asked tally
}

// newScene creates a namespace, and the class and templates for devices that will be on its nodes.
func newScene(ctx context.Context) *scene {
	namespace := must(kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "elastic-"}}, metav1.CreateOptions{}))
	s := &scene{fixture: &fixture{namespace: namespace.Name, kube: kube}, asked: tally{}}
	s.record = recordPods(s.namespace)
	s.class = s.model(ctx, "h100")
	s.template(ctx, "one", exactly(s.class, 1))
	s.template(ctx, "two", exactly(s.class, 2))
	return s
}

// h100s adds a node with devices.
func (s *scene) h100s(ctx context.Context, node string, n int) {
	s.node(ctx, node, devices(n, "h100", nil)...)
}

type queueOption = func(*schedulingv1beta1.Queue)

func (s *scene) team(ctx context.Context, name, parent string, options ...queueOption) string {
	dra := func(q *schedulingv1beta1.Queue) { q.Spec.DRA = &schedulingv1beta1.DRAQuota{} }
	return s.newQueue(ctx, name, parent, append([]queueOption{dra}, options...)...)
}

// deserves, atMost, and guaranteed set numbers of devices of the scene.
func (s *scene) deserves(n int64) queueOption {
	return func(q *schedulingv1beta1.Queue) { q.Spec.DRA.Deserved = s.count(n) }
}

func (s *scene) atMost(n int64) queueOption {
	return func(q *schedulingv1beta1.Queue) { q.Spec.DRA.Capability = s.count(n) }
}

func (s *scene) guaranteed(n int64) queueOption {
	return func(q *schedulingv1beta1.Queue) { q.Spec.DRA.Guarantee = s.count(n) }
}

func (s *scene) count(n int64) schedulingv1beta1.DeviceQuotas {
	return schedulingv1beta1.DeviceQuotas{s.class: {Count: n}}
}

// oursAndTheirs creates two queues below a parent with these deserved numbers of devices.
func (s *scene) oursAndTheirs(ctx context.Context, parent string, ours, theirs int64) (string, string) {
	return s.team(ctx, "ours", parent, s.deserves(ours)), s.team(ctx, "theirs", parent, s.deserves(theirs))
}

type podOption func(*corev1.PodTemplateSpec)

// claiming adds a claim from a template.
func claiming(template string) podOption {
	return withClaim(corev1.PodResourceClaim{ResourceClaimTemplateName: ptr.To(template)})
}

// sharing adds a claim that other pods share.
func sharing(claim string) podOption {
	return withClaim(corev1.PodResourceClaim{ResourceClaimName: ptr.To(claim)})
}

func withClaim(claim corev1.PodResourceClaim) podOption {
	claim.Name = "gpu"
	return func(p *corev1.PodTemplateSpec) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{claim}
		p.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: claim.Name}}
	}
}

// slowly makes pods take ten seconds to end.
var slowly = ending(10)

// ending makes pods take some seconds to end.
func ending(seconds int64) podOption {
	return func(p *corev1.PodTemplateSpec) {
		p.Annotations["devicequota.io/ignore-sigterm"] = "true"
		p.Spec.TerminationGracePeriodSeconds = ptr.To(seconds)
	}
}

func requests(name corev1.ResourceName, quantity string) podOption {
	return func(p *corev1.PodTemplateSpec) {
		resources := &p.Spec.Containers[0].Resources
		resources.Requests[name] = resource.MustParse(quantity)
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory { // other resources require limits
			resources.Limits = amount(name, quantity)
		}
	}
}

func ofPriority(class string) podOption {
	return func(p *corev1.PodTemplateSpec) { p.Spec.PriorityClassName = class }
}

func annotated(key, value string) podOption {
	return func(p *corev1.PodTemplateSpec) { p.Annotations[key] = value }
}

// podTemplate returns a pod of a group and a queue with a request for one core.
func podTemplate(group, queue string, options []podOption) corev1.PodTemplateSpec {
	p := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{groupLabel: group}, Annotations: map[string]string{upstreamv1beta1.QueueNameAnnotationKey: queue}},
		Spec: corev1.PodSpec{
			SchedulerName: "volcano", RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/main:v1",
				Resources: corev1.ResourceRequirements{Requests: amount(corev1.ResourceCPU, "1")}}},
		},
	}
	for _, option := range options {
		option(&p)
	}
	return p
}

// singles creates pods that are independent of each other.
func (s *scene) singles(ctx context.Context, group, queue string, n int, options ...podOption) {
	template := podTemplate(group, queue, options)
	for i := range n {
		pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
		pod.Name = fmt.Sprintf("%s-%d", group, i)
		must(kube.CoreV1().Pods(s.namespace).Create(ctx, pod, metav1.CreateOptions{}))
	}
	s.asked[group] += n
}

// job creates a Volcano Job that starts with minAvailable pods or more.
func (s *scene) job(ctx context.Context, group, queue string, n, minAvailable int32, options ...podOption) {
	template := podTemplate(group, queue, options)
	must(vc.BatchV1alpha1().Jobs(s.namespace).Create(ctx, &batchv1alpha1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: group},
		Spec: batchv1alpha1.JobSpec{
			SchedulerName: "volcano", Queue: queue, MinAvailable: minAvailable, PriorityClassName: template.Spec.PriorityClassName,
			TTLSecondsAfterFinished: ptr.To[int32](1),
			Tasks:                   []batchv1alpha1.TaskSpec{{Name: "worker", Replicas: n, MinAvailable: ptr.To(minAvailable), Template: template}},
		},
	}, metav1.CreateOptions{}))
	s.asked[group] += int(n)
}

// gangPods creates a PodGroup and its pods. All of them must start together.
func (s *scene) gangPods(ctx context.Context, group, queue string, n int, options ...podOption) {
	pg := &upstreamv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: group}}
	pg.Spec.MinMember, pg.Spec.Queue = int32(n), queue
	pg.Spec.PriorityClassName = podTemplate(group, queue, options).Spec.PriorityClassName
	must(vc.SchedulingV1beta1().PodGroups(s.namespace).Create(ctx, pg, metav1.CreateOptions{}))
	s.singles(ctx, group, queue, n, append(options, annotated(upstreamv1beta1.KubeGroupNameAnnotationKey, group))...)
}

// deployment creates a Deployment, which replaces pods as soon as they terminate.
func (s *scene) deployment(ctx context.Context, group, queue string, n int32, options ...podOption) {
	template := podTemplate(group, queue, options)
	template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	must(kube.AppsV1().Deployments(s.namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: group},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To(n), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
	}, metav1.CreateOptions{}))
	s.asked[group] += int(n)
}

// kubernetesJob creates a Job of Kubernetes, which replaces pods that fail.
func (s *scene) kubernetesJob(ctx context.Context, group, queue string, n int32, options ...podOption) {
	must(kube.BatchV1().Jobs(s.namespace).Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: group},
		Spec:       batchv1.JobSpec{Parallelism: ptr.To(n), Completions: ptr.To(n), BackoffLimit: ptr.To[int32](100), Template: podTemplate(group, queue, options)},
	}, metav1.CreateOptions{}))
	s.asked[group] += int(n)
}
