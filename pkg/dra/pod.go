// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// ClaimReader reads the claims and templates that pods refer to. If an object does not exist, apierrors.IsNotFound recognizes the error.
type ClaimReader interface {
	// Claim returns a claim. It includes allocations by this scheduler before the watch delivers them.
	Claim(namespace, name string) (*resourceapi.ResourceClaim, error)
	// ClaimTemplate returns a template from which claims are created.
	ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error)
	// ExtendedClaim returns the claim that a scheduler made for the extended resources of a pod (KEP-5004), or nil. It includes a
	// claim that this scheduler is about to create. For a bound pod, only pod.status.extendedResourceClaimStatus identifies the
	// claim, because users can write the annotation and the owner of a claim.
	ExtendedClaim(pod *corev1.Pod) *resourceapi.ResourceClaim
	// LostClaims returns deleted claims whose devices a running pod still uses. Users can remove the finalizer of a claim.
	LostClaims(pod types.UID) []*resourceapi.ResourceClaim
}

// NotCreatedError says that a claim is not created from its template yet. Kubernetes' controller usually creates it within
// seconds, so users need no event about it.
type NotCreatedError struct {
	// PodClaim is the name of the entry in pod.spec.resourceClaims.
	PodClaim string
	// Namespace and Template identify the ResourceClaimTemplate.
	Namespace, Template string
}

func (e *NotCreatedError) Error() string {
	return fmt.Sprintf("the ResourceClaim for %s has not been created from ResourceClaimTemplate %s/%s yet", e.PodClaim, e.Namespace, e.Template)
}

// ClaimsNamed reports whether the status of a pod names all claims that are created from templates. Kubernetes' controller writes it after it has created them.
func ClaimsNamed(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Spec.ResourceClaims, func(claim corev1.PodResourceClaim) bool {
		_, _, err := resourceclaim.Name(pod, &claim)
		return err != nil
	})
}

// ClaimOf returns the claim for one entry of pod.spec.resourceClaims, even if it was deleted while the pod uses it. It returns nil
// without an error if the entry needs no claim. The error says why the pod cannot use the claim, or is a [NotCreatedError].
func ClaimOf(pod *corev1.Pod, podClaim *corev1.PodResourceClaim, claims ClaimReader) (*resourceapi.ResourceClaim, error) {
	name, ownedByPod, err := resourceclaim.Name(pod, podClaim)
	if err != nil {
		return nil, missingClaim(pod, podClaim, claims, err)
	}
	if name == nil {
		return nil, nil
	}
	for _, lost := range claims.LostClaims(pod.UID) {
		if lost.Name == *name {
			return lost, nil
		}
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

// ClaimNamed returns a claim. If the claim does not exist, the error contains the remedy.
func ClaimNamed(namespace, name string, claims ClaimReader) (*resourceapi.ResourceClaim, error) {
	claim, err := claims.Claim(namespace, name)
	if err != nil {
		return nil, notFound(err, "ResourceClaim "+namespace+"/"+name)
	}
	return claim, nil
}

// TemplateNamed returns a claim template. If the template does not exist, the error contains the remedy.
func TemplateNamed(namespace, name string, claims ClaimReader) (*resourceapi.ResourceClaimTemplate, error) {
	template, err := claims.ClaimTemplate(namespace, name)
	if err != nil {
		return nil, notFound(err, "ResourceClaimTemplate "+namespace+"/"+name)
	}
	return template, nil
}

// missingClaim says why a pod has no claim yet. The template does not exist, or the claim is not created from it yet.
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

// checkUsable returns an error if the claim is being deleted or is for the extended resources of another pod. There is no error if the pod
// already uses its devices. The other pod is charged for the resources themselves, and the queue of this pod would be charged for the devices
// as well.
func checkUsable(pod *corev1.Pod, claim *resourceapi.ResourceClaim) error {
	if claim.DeletionTimestamp == nil && !IsExtended(claim) {
		return nil // only for speed: a claim may have many users
	}
	owner := metav1.GetControllerOf(claim)
	switch {
	case HeldBy(pod, claim):
		return nil
	case claim.DeletionTimestamp != nil:
		return fmt.Errorf("ResourceClaim %s/%s is being deleted: wait until it is gone and create it again, or use another one", claim.Namespace, claim.Name)
	case IsExtended(claim) && claim.Status.Allocation != nil && owner != nil && owner.Kind == "Pod" && owner.UID != pod.UID:
		return fmt.Errorf("ResourceClaim %s/%s is for the extended resources of pod %s: use another one", claim.Namespace, claim.Name, owner.Name)
	default:
		return nil
	}
}

// Check returns an error if an object that the claim depends on does not exist: a requested class or, for an allocated claim,
// the driver of a device. usage is the usage of the claim.
func Check(claim *resourceapi.ResourceClaim, usage *Usage, catalog *Catalog) error {
	if claim.Status.Allocation != nil {
		return checkDrivers(claim, catalog)
	}
	return CheckClasses("ResourceClaim "+claim.Namespace+"/"+claim.Name, usage, catalog)
}

// CheckClasses returns an error if a class of a usage does not exist. object names the claim or template in the error.
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

// HeldBy reports whether the claim is allocated and reserved for the pod. The owner of the claim does not matter, because users
// can write it.
func HeldBy(pod *corev1.Pod, claim *resourceapi.ResourceClaim) bool {
	return claim.Status.Allocation != nil && resourceclaim.IsReservedForPod(pod, claim)
}

// Bound reports whether a pod was bound. It ignores the node name. When upstream tries to place a pod, it writes the node name to
// the informer's copy of the pod, and leaves it there if it gives up. The binding or the kubelet sets the condition.
func Bound(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodPending && pod.Status.Phase != "" {
		return true
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue
	})
}

// PlaceOf returns the index of the pod in the claim's status.reservedFor, which has the order of reservation. It returns the
// number of entries if the pod is missing.
func PlaceOf(pod *corev1.Pod, claim *resourceapi.ResourceClaim) int {
	for i, consumer := range claim.Status.ReservedFor {
		if consumer.UID == pod.UID {
			return i
		}
	}
	return len(claim.Status.ReservedFor)
}
