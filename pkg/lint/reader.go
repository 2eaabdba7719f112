// SPDX-License-Identifier: Apache-2.0

package lint

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// reader reads claims and templates for package demand.
type reader struct{ *Objects }

// Claim implements dra.ClaimReader.
func (r reader) Claim(namespace, name string) (*resourceapi.ResourceClaim, error) {
	for _, claim := range r.Claims {
		if claim.Namespace == namespace && claim.Name == name {
			return claim, nil
		}
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), name)
}

// ClaimTemplate implements dra.ClaimReader.
func (r reader) ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error) {
	for _, template := range r.Templates {
		if template.Namespace == namespace && template.Name == name {
			return template, nil
		}
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaimtemplates"), name)
}

// ExtendedClaim implements dra.ClaimReader. Templates have no extended claims yet.
func (r reader) ExtendedClaim(*corev1.Pod) *resourceapi.ResourceClaim { return nil }

// LostClaims implements dra.ClaimReader. No pod of the objects runs.
func (r reader) LostClaims(types.UID) []*resourceapi.ResourceClaim { return nil }
