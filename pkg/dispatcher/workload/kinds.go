// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Kinds of objects that Of reads.
var (
	VolcanoJob  = batchv1alpha1.SchemeGroupVersion.WithKind("Job")
	PodGroup    = schedulingv1beta1.SchemeGroupVersion.WithKind("PodGroup")
	Deployment  = appsv1.SchemeGroupVersion.WithKind("Deployment")
	StatefulSet = appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	DaemonSet   = appsv1.SchemeGroupVersion.WithKind("DaemonSet")
	Job         = batchv1.SchemeGroupVersion.WithKind("Job")
	CronJob     = batchv1.SchemeGroupVersion.WithKind("CronJob")
	Pod         = corev1.SchemeGroupVersion.WithKind("Pod")
)

// Kinds lists the kinds of objects that Of reads.
var Kinds = []schema.GroupVersionKind{VolcanoJob, PodGroup, Deployment, StatefulSet, DaemonSet, Job, CronJob, Pod}

// AddToScheme adds Kinds to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, batchv1alpha1.AddToScheme, schedulingv1beta1.AddToScheme)
	return builder.AddToScheme(scheme)
}

// Of reads an object of one of Kinds. A workload is for Volcano if its pods name one of the schedulers. The template shares
// memory with the object. If the object was unreadable or has a wrong number, Of returns an error, and a template without pods.
//
// The queue of a Volcano Job or PodGroup is spec.queue. If that is empty or "default", which the API server sets by default, the
// annotation scheduling.volcano.sh/queue-name names the queue. For other kinds, only the annotation does. The annotation of the
// pods comes before the annotation of the object, as in Volcano. The labels of the same name come last. Volcano has no such label.
//
// The PriorityClass of a Volcano Job or PodGroup is spec.priorityClassName. If that is empty, or for other kinds, it is the
// class that all pods name. If tasks name different classes, there is none, as in Volcano.
func Of(object runtime.Object, schedulerNames []string) (*Template, error) {
	var t *Template
	var err error
	switch o := object.(type) {
	case *batchv1alpha1.Job:
		t, err = ofVolcanoJob(o)
	case *schedulingv1beta1.PodGroup:
		t, err = ofPodGroup(o)
	case *appsv1.Deployment:
		t, err = ofDeployment(o)
	case *appsv1.StatefulSet:
		t, err = ofStatefulSet(o)
	case *batchv1.Job:
		t, err = ofJob(Job, o, &o.Spec)
	case *batchv1.CronJob:
		t, err = ofCronJob(o)
	case *appsv1.DaemonSet:
		t, err = ofDaemonSet(o)
	case *corev1.Pod:
		t = ofPod(o)
	default:
		return nil, fmt.Errorf("objects of type %T are not read", object)
	}
	t.findScheduler(schedulerNames)
	if accessor, is := object.(metav1.Object); is {
		err = errors.Join(err, Unreadable(accessor))
	}
	if err != nil {
		t.Pods = nil
	}
	return t, err
}
