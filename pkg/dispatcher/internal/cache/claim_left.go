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

// ClusterWithOther returns a cluster that Karmada has sent a *resourceapi.ResourceClaim or *resourceapi.ResourceClaimTemplate with the name of a
// new one and with other devices, "" if there is none. Specs of claims never change, so the cluster would keep the one before, and give its devices
// to pods that are counted for the new one. It keeps it, too, until a Work that is deleted is gone, because it cannot be reached.
func (c *Cache) ClusterWithOther(ctx context.Context, given metav1.Object) (string, error) {
	kind, none := "ResourceClaim", func() metav1.Object { return &resourceapi.ResourceClaim{} }
	if _, is := given.(*resourceapi.ResourceClaimTemplate); is {
		kind, none = "ResourceClaimTemplate", func() metav1.Object { return &resourceapi.ResourceClaimTemplate{} }
	}
	works, err := c.sentAs(ctx, kind, given)
	for _, work := range works {
		for i := range work.Spec.Workload.Manifests {
			sent := none()
			if err := json.Unmarshal(work.Spec.Workload.Manifests[i].Raw, sent); err != nil || binding.ClaimNote(sent) != binding.ClaimNote(given) {
				return binding.ClusterOf(&work), nil
			}
		}
	}
	return "", err
}

// sentAs returns the Works of a binding with the name of an object's binding, which the object would get, and the Works that the cache shows with the names of
// its Works, whatever binding they are of. It asks the API server, because the cache has no manifests.
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
