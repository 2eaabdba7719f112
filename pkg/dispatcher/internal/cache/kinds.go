// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	volcanoinformers "volcano.sh/apis/pkg/client/informers/externalversions"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// kind is a kind of objects that make pods.
type kind struct {
	optional
	// get reads an object from the API server.
	get func(ctx context.Context, namespace, name string) (runtime.Object, error)
}

// kindsOf returns the kinds that the dispatcher reads: [workload.Kinds].
func kindsOf(c *Clients, core informers.SharedInformerFactory, volcano volcanoinformers.SharedInformerFactory) []*kind {
	apps, batch := core.Apps().V1(), core.Batch().V1()
	return []*kind{
		kindOf(workload.Deployment, apps.Deployments().Informer(), c.Kubernetes.AppsV1().Deployments),
		kindOf(workload.StatefulSet, apps.StatefulSets().Informer(), c.Kubernetes.AppsV1().StatefulSets),
		kindOf(workload.DaemonSet, apps.DaemonSets().Informer(), c.Kubernetes.AppsV1().DaemonSets),
		kindOf(workload.Job, batch.Jobs().Informer(), c.Kubernetes.BatchV1().Jobs),
		kindOf(workload.CronJob, batch.CronJobs().Informer(), c.Kubernetes.BatchV1().CronJobs),
		kindOf(workload.Pod, core.Core().V1().Pods().Informer(), c.Kubernetes.CoreV1().Pods),
		kindOf(workload.VolcanoJob, volcano.Batch().V1alpha1().Jobs().Informer(), c.Volcano.BatchV1alpha1().Jobs),
		kindOf(workload.PodGroup, volcano.Scheduling().V1beta1().PodGroups().Informer(), c.Volcano.SchedulingV1beta1().PodGroups),
	}
}

// getter is a client of one kind in one namespace.
type getter[T runtime.Object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
}

func kindOf[G getter[T], T runtime.Object](gvk schema.GroupVersionKind, informer cache.SharedIndexInformer, in func(namespace string) G) *kind {
	return &kind{
		optional: optional{gvk: gvk, informer: informer},
		get: func(ctx context.Context, namespace, name string) (runtime.Object, error) {
			return in(namespace).Get(ctx, name, metav1.GetOptions{})
		},
	}
}
