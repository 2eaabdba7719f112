// SPDX-License-Identifier: Apache-2.0

package cache

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
)

// claimReader is a dra.ClaimReader on informers.
type claimReader struct {
	claims    resourcelisters.ResourceClaimLister
	templates resourcelisters.ResourceClaimTemplateLister
}

func (c *Cache) claimReader() claimReader { return claimReader{c.claims, c.templates} }

func (r claimReader) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	return r.claims.ResourceClaims(namespace).Get(name)
}

func (r claimReader) ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	return r.templates.ResourceClaimTemplates(namespace).Get(name)
}

// ExtendedClaim returns nil. Schedulers of members make claims for extended resources; the templates of workloads have none.
func (claimReader) ExtendedClaim(*corev1.Pod) *resourceapi.ResourceClaim { return nil }

// LostClaims returns nil, because pods run only in members.
func (claimReader) LostClaims(types.UID) []*resourceapi.ResourceClaim { return nil }
