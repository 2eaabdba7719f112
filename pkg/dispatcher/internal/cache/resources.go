// SPDX-License-Identifier: Apache-2.0

package cache

import (
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

var (
	clustersResource        = clusterv1alpha1.SchemeGroupVersion.WithResource("clusters")
	queuesResource          = schedulingv1beta1.SchemeGroupVersion.WithResource("queues")
	priorityClassesResource = schedulingv1.SchemeGroupVersion.WithResource("priorityclasses")
)

// withoutManagedFields drops the managed fields. They are not used here and are the largest part of many objects.
func withoutManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}
