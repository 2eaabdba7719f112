// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"encoding/json"

	"github.com/karmada-io/karmada/pkg/util/names"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dispatcher/binding"
)

// ClusterWithOther returns a cluster that Karmada has sent a *resourceapi.ResourceClaim or *resourceapi.ResourceClaimTemplate with the name of a
// new one and with other devices, "" if there is none. The new one would get the binding of the one before. Specs of claims never change, so the
// cluster would keep the one before, and give its devices to pods that are counted for the new one.
func (c *Cache) ClusterWithOther(ctx context.Context, given metav1.Object) (string, error) {
	kind, none := "ResourceClaim", func() metav1.Object { return &resourceapi.ResourceClaim{} }
	if _, is := given.(*resourceapi.ResourceClaimTemplate); is {
		kind, none = "ResourceClaimTemplate", func() metav1.Object { return &resourceapi.ResourceClaimTemplate{} }
	}
	rb, err := c.Binding(ctx, given.GetNamespace(), names.GenerateBindingName(kind, given.GetName()))
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil || idOf(rb.Labels) == "" {
		return "", err
	}
	all := oneOf(idOf(rb.Labels))
	all.Limit = 0
	works, err := c.clients.Karmada.WorkV1alpha1().Works(metav1.NamespaceAll).List(ctx, all)
	if err != nil {
		return "", err
	}
	for i := range works.Items {
		work := &works.Items[i]
		for j := range work.Spec.Workload.Manifests {
			sent := none()
			if err := json.Unmarshal(work.Spec.Workload.Manifests[j].Raw, sent); err != nil || binding.ClaimNote(sent) != binding.ClaimNote(given) {
				return binding.ClusterOf(work), nil
			}
		}
	}
	return "", nil
}
