// SPDX-License-Identifier: Apache-2.0

package lint

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// kind is a kind of objects that lint reads.
type kind struct {
	schema.GroupVersionKind
	// resource is the name of the kind in the API.
	resource   string
	namespaced bool
	empty      func() runtime.Object
}

func of[T any, P interface {
	*T
	runtime.Object
}](version schema.GroupVersion, name, resource string, namespaced bool) kind {
	return kind{version.WithKind(name), resource, namespaced, func() runtime.Object { return P(new(T)) }}
}

// kinds are the kinds that lint reads. Each stands for all versions of its group.
var kinds = []kind{
	of[schedulingv1beta1.Queue](schedulingv1beta1.SchemeGroupVersion, "Queue", "queues", false),
	of[resourceapi.DeviceClass](resourceapi.SchemeGroupVersion, "DeviceClass", "deviceclasses", false),
	of[resourceapi.ResourceSlice](resourceapi.SchemeGroupVersion, "ResourceSlice", "resourceslices", false),
	of[corev1.Node](corev1.SchemeGroupVersion, "Node", "nodes", false),
	of[schedulingv1.PriorityClass](schedulingv1.SchemeGroupVersion, "PriorityClass", "priorityclasses", false),
	of[resourceapi.ResourceClaim](resourceapi.SchemeGroupVersion, "ResourceClaim", "resourceclaims", true),
	of[resourceapi.ResourceClaimTemplate](resourceapi.SchemeGroupVersion, "ResourceClaimTemplate", "resourceclaimtemplates", true),
	of[corev1.ConfigMap](corev1.SchemeGroupVersion, "ConfigMap", "configmaps", true),
	of[corev1.Pod](corev1.SchemeGroupVersion, "Pod", "pods", true),
	of[batchv1alpha1.Job](batchv1alpha1.SchemeGroupVersion, "Job", "jobs", true),
	of[volcanov1beta1.PodGroup](volcanov1beta1.SchemeGroupVersion, "PodGroup", "podgroups", true),
	of[appsv1.Deployment](appsv1.SchemeGroupVersion, "Deployment", "deployments", true),
	of[appsv1.StatefulSet](appsv1.SchemeGroupVersion, "StatefulSet", "statefulsets", true),
	of[appsv1.DaemonSet](appsv1.SchemeGroupVersion, "DaemonSet", "daemonsets", true),
	of[batchv1.Job](batchv1.SchemeGroupVersion, "Job", "jobs", true),
	of[batchv1.CronJob](batchv1.SchemeGroupVersion, "CronJob", "cronjobs", true),
}

// groupResource returns the name that the API server uses, such as jobs.batch.volcano.sh.
func (k *kind) groupResource() string {
	return schema.GroupResource{Group: k.Group, Resource: k.resource}.String()
}

// kindOf returns the kind as which lint reads an object.
func kindOf(gvk schema.GroupVersionKind) (*kind, bool) {
	for i := range kinds {
		if kinds[i].GroupVersionKind == gvk {
			return &kinds[i], true
		}
	}
	return nil, false
}
