// SPDX-License-Identifier: Apache-2.0

//go:build multicluster

package multicluster

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	upstreamv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// workloadLabel is the label of pods with the name of their workload.
const workloadLabel = "e2e.devicequota.io/workload"

// workload describes a number of equal pods, as any kind.
type workload struct {
	name string
	// queue is the queue, empty for none.
	queue string
	pods  int32
	// requests are the requests of each pod. Nil means one core.
	requests corev1.ResourceList
	// claimTemplate is the template of the claim of each pod, empty for none.
	claimTemplate string
	// cards is the annotation volcano.sh/card.name, empty for none.
	cards    string
	priority string
	// in is the member that must run the pods, or ownPolicy. If it is empty, Karmada chooses a member.
	in string
	// change changes the pod template. It may be nil.
	change func(*corev1.PodTemplateSpec)
	// runFor is how long pods run. Zero means until they are deleted.
	runFor time.Duration
}

// meta returns metadata with the queue in the annotation of Volcano.
func (w workload) meta() metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: w.name, Labels: w.labels()}
	if w.queue != "" {
		meta.Annotations = map[string]string{upstreamv1beta1.QueueNameAnnotationKey: w.queue}
	}
	return meta
}

func (w workload) labels() map[string]string {
	if w.in == "" {
		return nil
	}
	return map[string]string{memberLabel: w.in}
}

func (w workload) template(restart corev1.RestartPolicy) corev1.PodTemplateSpec {
	requests := w.requests
	if requests == nil {
		requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	}
	container := corev1.Container{Name: "main", Image: "registry.example.com/main:v1", Resources: corev1.ResourceRequirements{Requests: requests, Limits: requests}}
	template := corev1.PodTemplateSpec{ObjectMeta: w.meta()}
	template.Name, template.Labels = "", map[string]string{workloadLabel: w.name}
	annotations := map[string]string{upstreamv1beta1.QueueNameAnnotationKey: w.queue, "volcano.sh/card.name": w.cards}
	if w.runFor > 0 {
		annotations["devicequota.io/run-for"] = w.runFor.String()
	}
	for key, value := range annotations {
		if value != "" {
			metav1.SetMetaDataAnnotation(&template.ObjectMeta, key, value)
		}
	}
	template.Spec = corev1.PodSpec{
		SchedulerName: "volcano", RestartPolicy: restart, TerminationGracePeriodSeconds: ptr.To[int64](0),
		PriorityClassName: w.priority,
	}
	if w.claimTemplate != "" {
		template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To(w.claimTemplate)}}
		container.Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	}
	template.Spec.Containers = []corev1.Container{container}
	if w.change != nil {
		w.change(&template)
	}
	return template
}

func (w workload) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{workloadLabel: w.name}}
}

// volcanoJob creates the workload as a Volcano Job. Its pods start together.
func (f *fixture) volcanoJob(ctx context.Context, w workload) {
	GinkgoHelper()
	_, err := hub.vc.BatchV1alpha1().Jobs(f.namespace).Create(ctx, volcanoJobOf(w), metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}

func volcanoJobOf(w workload) *batchv1alpha1.Job {
	job := &batchv1alpha1.Job{ObjectMeta: metav1.ObjectMeta{Name: w.name, Labels: w.labels()}}
	job.Spec = batchv1alpha1.JobSpec{
		SchedulerName: "volcano", Queue: w.queue, MinAvailable: w.pods, PriorityClassName: w.priority,
		Tasks: []batchv1alpha1.TaskSpec{{Name: "main", Replicas: w.pods, MinAvailable: ptr.To(w.pods), Template: w.template(corev1.RestartPolicyNever)}},
	}
	return job
}

func (f *fixture) deployment(ctx context.Context, w workload) {
	GinkgoHelper()
	_, err := hub.kube.AppsV1().Deployments(f.namespace).Create(ctx, deploymentOf(w), metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}

// deploymentOf returns a Deployment without surge: its old pods are gone before new ones start.
func deploymentOf(w workload) *appsv1.Deployment {
	deployment := &appsv1.Deployment{ObjectMeta: w.meta()}
	deployment.Spec = appsv1.DeploymentSpec{Replicas: ptr.To(w.pods), Selector: w.selector(), Template: w.template(corev1.RestartPolicyAlways)}
	deployment.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	return deployment
}

func (f *fixture) scale(ctx context.Context, deployment string, pods int32) {
	GinkgoHelper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, pods)
	_, err := hub.kube.AppsV1().Deployments(f.namespace).Patch(ctx, deployment, types.MergePatchType, patch, metav1.PatchOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}

// statefulSet creates the workload as a StatefulSet that starts all pods together.
func (f *fixture) statefulSet(ctx context.Context, w workload) {
	GinkgoHelper()
	_, err := hub.kube.AppsV1().StatefulSets(f.namespace).Create(ctx, statefulSetOf(w), metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}

func statefulSetOf(w workload) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: w.meta()}
	set.Spec = appsv1.StatefulSetSpec{
		Replicas: ptr.To(w.pods), Selector: w.selector(), Template: w.template(corev1.RestartPolicyAlways),
		PodManagementPolicy: appsv1.ParallelPodManagement,
	}
	return set
}

// batchJob creates the workload as a Kubernetes Job.
func (f *fixture) batchJob(ctx context.Context, w workload) {
	GinkgoHelper()
	_, err := hub.kube.BatchV1().Jobs(f.namespace).Create(ctx, batchJobOf(w), metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}

func batchJobOf(w workload) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: w.meta()}
	job.Spec = batchv1.JobSpec{Parallelism: ptr.To(w.pods), Completions: ptr.To(w.pods), Template: w.template(corev1.RestartPolicyNever)}
	return job
}

// pod creates the workload as a bare pod.
func (f *fixture) pod(ctx context.Context, w workload) {
	GinkgoHelper()
	template := w.template(corev1.RestartPolicyNever)
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name = w.name
	for name, value := range w.labels() {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, name, value)
	}
	_, err := hub.kube.CoreV1().Pods(f.namespace).Create(ctx, pod, metav1.CreateOptions{})
	f.Expect(err).NotTo(HaveOccurred())
}
