// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"encoding/json"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	"github.com/karmada-io/karmada/pkg/util/names"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// ClusterWithOther returns the name of a cluster that has another version of a new *resourceapi.ResourceClaim or *resourceapi.ResourceClaimTemplate:
// Karmada sent it an object with the same name and with other devices. It returns "" if there is none. Specs of claims are immutable, so the cluster
// would keep the old object, and give its devices to pods that are counted with the new one. It also keeps the old object while it cannot be reached,
// until the deleted Work is gone.
func (c *Cache) ClusterWithOther(ctx context.Context, given metav1.Object) (string, error) {
	kind, none := "ResourceClaim", func() metav1.Object { return &resourceapi.ResourceClaim{} }
	if _, is := given.(*resourceapi.ResourceClaimTemplate); is {
		kind, none = "ResourceClaimTemplate", func() metav1.Object { return &resourceapi.ResourceClaimTemplate{} }
	}
	note := binding.ClaimNote(given)
	works, err := c.sentAs(ctx, kind, given)
	for _, work := range works {
		for i := range work.Spec.Workload.Manifests {
			sent := none()
			if err := json.Unmarshal(work.Spec.Workload.Manifests[i].Raw, sent); err != nil || binding.ClaimNote(sent) != note {
				return binding.ClusterOf(&work), nil
			}
		}
	}
	return "", err
}

// sentAs returns the Works with the names that the Works of an object get, and the Works of the binding with the name that its binding gets. It reads
// them from the API server, because the cache has no manifests.
func (c *Cache) sentAs(ctx context.Context, kind string, object metav1.Object) ([]workv1alpha1.Work, error) {
	var all []workv1alpha1.Work
	api := c.clients.Karmada.WorkV1alpha1()
	clusters, err := c.clusterInformer.Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	name := names.GenerateWorkName(kind, object.GetName(), object.GetNamespace())
	for _, cluster := range clusters {
		namespace := names.GenerateExecutionSpaceName(cluster.Name)
		if _, shown, err := c.workInformer.GetStore().GetByKey(namespace + "/" + name); err != nil || !shown {
			continue // the store gives no errors for keys
		}
		switch work, err := api.Works(namespace).Get(ctx, name, metav1.GetOptions{}); {
		case err == nil:
			all = append(all, *work)
		case !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	rb, err := c.Binding(ctx, object.GetNamespace(), names.GenerateBindingName(kind, object.GetName()))
	if apierrors.IsNotFound(err) {
		return all, nil
	}
	if err != nil || idOf(rb.Labels) == "" {
		return all, err
	}
	of := oneOf(idOf(rb.Labels))
	of.Limit = 0
	works, err := api.Works(metav1.NamespaceAll).List(ctx, of)
	if err != nil {
		return nil, err
	}
	return append(all, works.Items...), nil
}
