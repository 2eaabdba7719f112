// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"cmp"
	"context"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claims returns all claims of the API server, sorted by name.
func (c *fuzzCluster) claims() []*resourcev1.ResourceClaim {
	list, err := c.kube.ResourceV1().ResourceClaims("ns").List(context.Background(), metav1.ListOptions{})
	c.try(err)
	var all []*resourcev1.ResourceClaim
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	slices.SortFunc(all, func(a, b *resourcev1.ResourceClaim) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (c *fuzzCluster) claim(name string) *resourcev1.ResourceClaim {
	claim, err := c.kube.ResourceV1().ResourceClaims("ns").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return claim
}

// writeClaim changes a claim as a controller or a driver does.
func (c *fuzzCluster) writeClaim(claim *resourcev1.ResourceClaim) {
	_, err := c.kube.ResourceV1().ResourceClaims(claim.Namespace).UpdateStatus(context.Background(), claim, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) { // the plugin deallocates in the background
		c.fail("write claim %s: %v", claim.Name, err)
	}
}
