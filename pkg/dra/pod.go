// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// ClaimReader reads the claims and templates that pods refer to. A method that returns errors returns one that
// apierrors.IsNotFound recognizes when there is no such object.
type ClaimReader interface {
	// Claim returns a claim. Allocations by this scheduler are included before the watch delivers them.
	Claim(namespace, name string) (*resourceapi.ResourceClaim, error)
	// ClaimTemplate returns a template from which claims are created.
	ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error)
	// ExtendedClaim returns the extended claim of a pod, nil if there is none. One that this scheduler is about to create
	// is included.
	ExtendedClaim(pod *corev1.Pod) *resourceapi.ResourceClaim
}

// NotCreatedError means that a claim has not been created from its template yet. Kubernetes' controller
// usually creates it within seconds, so users need no event about it.
type NotCreatedError struct {
	// PodClaim is the name of the entry in pod.spec.resourceClaims.
	PodClaim string
	// Namespace and Template identify the ResourceClaimTemplate.
	Namespace, Template string
}

func (e *NotCreatedError) Error() string {
	return fmt.Sprintf("the ResourceClaim for %s has not been created from ResourceClaimTemplate %s/%s yet", e.PodClaim, e.Namespace, e.Template)
}

// ClaimOf returns the claim for one entry of pod.spec.resourceClaims. It is nil without an error if the
// entry needs no claim. An error says why the pod cannot use the claim, or is a [NotCreatedError].
func ClaimOf(pod *corev1.Pod, podClaim *corev1.PodResourceClaim, claims ClaimReader) (*resourceapi.ResourceClaim, error) {
	name, ownedByPod, err := resourceclaim.Name(pod, podClaim)
	if err != nil {
		return nil, missingClaim(pod, podClaim, claims, err)
	}
	if name == nil {
		return nil, nil
	}
	claim, err := ClaimNamed(pod.Namespace, *name, claims)
	if err != nil {
		return nil, err
	}
	if ownedByPod {
		if err := resourceclaim.IsForPod(pod, claim); err != nil {
			return nil, fmt.Errorf("ResourceClaim %s/%s has the name of this pod's claim but belongs to another pod: delete that claim or this pod: %w",
				claim.Namespace, claim.Name, err)
		}
	}
	return claim, checkUsable(pod, claim)
}

// ClaimNamed returns a claim. If it does not exist, the error says what to do.
func ClaimNamed(namespace, name string, claims ClaimReader) (*resourceapi.ResourceClaim, error) {
	claim, err := claims.Claim(namespace, name)
	if err != nil {
		return nil, notFound(err, "ResourceClaim "+namespace+"/"+name)
	}
	return claim, nil
}

// TemplateNamed returns a claim template. If it does not exist, the error says what to do.
func TemplateNamed(namespace, name string, claims ClaimReader) (*resourceapi.ResourceClaimTemplate, error) {
	template, err := claims.ClaimTemplate(namespace, name)
	if err != nil {
		return nil, notFound(err, "ResourceClaimTemplate "+namespace+"/"+name)
	}
	return template, nil
}

// ExtendedClaimOf returns the claim that a scheduler made for the extended resources of a pod (KEP-5004), nil if
// there is none. The field pod.status.extendedResourceClaimStatus names it; before that is written, its owner does. A claim
// that the field names and that is gone is none: its devices are free.
func ExtendedClaimOf(pod *corev1.Pod, claims ClaimReader) (*resourceapi.ResourceClaim, error) {
	status := pod.Status.ExtendedResourceClaimStatus
	if status == nil {
		return claims.ExtendedClaim(pod), nil
	}
	claim, err := claims.Claim(pod.Namespace, status.ResourceClaimName)
	switch {
	case apierrors.IsNotFound(err):
		return claims.ExtendedClaim(pod), nil
	case err != nil:
		return nil, notFound(err, "ResourceClaim "+pod.Namespace+"/"+status.ResourceClaimName)
	}
	if err := resourceclaim.IsForPod(pod, claim); err != nil {
		return nil, err
	}
	return claim, nil
}

// missingClaim returns the reason why a pod has no claim yet: the template does not exist, or the claim
// has not been created from it.
func missingClaim(pod *corev1.Pod, podClaim *corev1.PodResourceClaim, claims ClaimReader, cause error) error {
	if podClaim.ResourceClaimTemplateName == nil {
		return cause
	}
	template := *podClaim.ResourceClaimTemplateName
	if _, err := TemplateNamed(pod.Namespace, template, claims); err != nil {
		return err
	}
	return &NotCreatedError{PodClaim: podClaim.Name, Namespace: pod.Namespace, Template: template}
}

// checkUsable returns an error if the claim is being deleted, unless the pod uses its devices already.
func checkUsable(pod *corev1.Pod, claim *resourceapi.ResourceClaim) error {
	if claim.DeletionTimestamp == nil || HeldBy(pod, claim) {
		return nil
	}
	return fmt.Errorf("ResourceClaim %s/%s is being deleted: wait until it is gone and create it again, or use another one", claim.Namespace, claim.Name)
}

// Check returns an error if an object that the claim depends on does not exist: a class that it requests
// or, if it is allocated, the driver of a device. Usage is the claim's own.
func Check(claim *resourceapi.ResourceClaim, usage *Usage, catalog *Catalog) error {
	if claim.Status.Allocation != nil {
		return checkDrivers(claim, catalog)
	}
	return CheckClasses("ResourceClaim "+claim.Namespace+"/"+claim.Name, usage, catalog)
}

// CheckClasses returns an error if a class of a usage does not exist. Object is the claim or template in
// the error text.
func CheckClasses(object string, usage *Usage, catalog *Catalog) error {
	for class := range usage.Classes {
		if _, found := catalog.Class(class); !found {
			return fmt.Errorf("%s: DeviceClass %s does not exist: create it or correct the name", object, class)
		}
	}
	return nil
}

func checkDrivers(claim *resourceapi.ResourceClaim, catalog *Catalog) error {
	for i := range claim.Status.Allocation.Devices.Results {
		if result := &claim.Status.Allocation.Devices.Results[i]; !catalog.HasDriver(result.Driver) {
			return fmt.Errorf("ResourceClaim %s/%s holds device %s, but driver %s no longer publishes ResourceSlices: start the driver again or delete the claim",
				claim.Namespace, claim.Name, idOf(result), result.Driver)
		}
	}
	return nil
}

func notFound(err error, object string) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s does not exist: create it or correct the name", object)
	}
	return fmt.Errorf("%s cannot be read: %w", object, err)
}

// HeldBy reports whether the pod uses the claim's allocation: the claim is allocated, and is reserved for
// the pod or was created for it.
func HeldBy(pod *corev1.Pod, claim *resourceapi.ResourceClaim) bool {
	return claim.Status.Allocation != nil &&
		(resourceclaim.IsReservedForPod(pod, claim) || resourceclaim.IsForPod(pod, claim) == nil)
}

// PlaceOf returns the index of the pod in the claim's status.reservedFor, which is in the order of
// reservation. If the pod is not there, it returns the number of entries.
func PlaceOf(pod *corev1.Pod, claim *resourceapi.ResourceClaim) int {
	for i, consumer := range claim.Status.ReservedFor {
		if consumer.UID == pod.UID {
			return i
		}
	}
	return len(claim.Status.ReservedFor)
}
