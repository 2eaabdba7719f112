// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"time"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

func deployment(replicas int32, options ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "web", UID: "d", Annotations: map[string]string{schedulingv1beta1.QueueNameAnnotationKey: "research"},
		},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}},
	}
	for _, o := range options {
		o(d)
	}
	return d
}

// noon is the time at which updates are admitted.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func changing(rb *workv1alpha2.ResourceBinding) {
	annotated(binding.ChangeAnnotation, `{"replaces":"","time":"2026-05-01T12:00:00Z"}`)(rb)
}

func changingWith(grace string) option {
	return annotated(binding.ChangeAnnotation, `{"replaces":"","time":"2026-05-01T12:00:00Z","grace":`+grace+`}`)
}

func withGrace(d *appsv1.Deployment) {
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](60)
}
func paused(d *appsv1.Deployment)    { d.Spec.Paused = true }
func withImage(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "v2" }
func surging(d *appsv1.Deployment) { // by no more than the surge that is not charged
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(1))}
}
func inTestQueue(d *appsv1.Deployment) {
	d.Annotations[schedulingv1beta1.QueueNameAnnotationKey] = "test"
}
func withLabel(d *appsv1.Deployment) { d.Labels = map[string]string{"a": "b"} }
func retaining(d *appsv1.Deployment) {
	d.Labels = map[string]string{"resourcetemplate.karmada.io/retain-replicas": "true"}
}
func withStatus(d *appsv1.Deployment) { d.Status.ReadyReplicas = 2 }
func recreated(d *appsv1.Deployment)  { d.UID = "another" }
func malformed(d *appsv1.Deployment) {
	d.Annotations[schedulingv1beta1.VolcanoGroupMinMemberAnnotationKey] = "many"
}

func withPriority(job *batchv1alpha1.Job) {
	job.Spec.Tasks[0].Template.Spec.PriorityClassName = "high"
}

func renamed(job *batchv1alpha1.Job) { job.Spec.Tasks[0].Name = "other" }

func withTask(job *batchv1alpha1.Job) {
	job.Spec.Tasks = append(job.Spec.Tasks, batchv1alpha1.TaskSpec{Name: "other", Replicas: 1})
}

func withoutTasks(job *batchv1alpha1.Job) { job.Spec.Tasks = nil }

func job(replicas int32, options ...func(*batchv1alpha1.Job)) *batchv1alpha1.Job {
	job := &batchv1alpha1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train", UID: "j"},
		Spec:       batchv1alpha1.JobSpec{Queue: "research", Tasks: []batchv1alpha1.TaskSpec{{Name: "worker", Replicas: replicas}}},
	}
	for _, o := range options {
		o(job)
	}
	return job
}

func batchJob(parallelism int32) *batchv1.Job {
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train", UID: "batch"},
		Spec:       batchv1.JobSpec{Parallelism: &parallelism},
	}
}

// replacing returns a CronJob that replaces its Jobs.
func replacing(schedule string) *batchv1.CronJob {
	return &batchv1.CronJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train", UID: "cron"},
		Spec:       batchv1.CronJobSpec{Schedule: schedule, ConcurrencyPolicy: batchv1.ReplaceConcurrent, JobTemplate: batchv1.JobTemplateSpec{Spec: batchJob(1).Spec}},
	}
}

func ofReplacing(rb *workv1alpha2.ResourceBinding) {
	rb.Name = "train-cronjob"
	rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "batch/v1", Kind: "CronJob", Namespace: "team", Name: "train", UID: "cron"}
}

// numberedFrom returns a StatefulSet whose pods have numbers from start on.
func numberedFrom(start int32) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train", UID: "set"},
		Spec:       appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2), PodManagementPolicy: appsv1.ParallelPodManagement},
	}
	if start > 0 {
		set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: start}
	}
	return set
}

func ofSet(rb *workv1alpha2.ResourceBinding) {
	rb.Name = "train-statefulset"
	rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "team", Name: "train", UID: "set"}
}

func suspended(job *batchv1.Job) *batchv1.Job {
	job.Spec.Suspend = ptr.To(true)
	return job
}

func ofBatchJob(rb *workv1alpha2.ResourceBinding) {
	rb.Name = "train-job"
	rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "team", Name: "train", UID: "batch"}
}

func ofJob(rb *workv1alpha2.ResourceBinding) {
	rb.Name = "train-job"
	rb.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Namespace: "team", Name: "train", UID: "j"}
}

func scale(replicas int32) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas},
	}
}
