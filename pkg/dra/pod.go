package dra

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// ClaimReader reads the claims and templates that pods refer to. Each method returns an error that
// apierrors.IsNotFound recognizes when there is no such object.
type ClaimReader interface {
	// Claim returns a claim as this scheduler knows it, its own allocations included
	// before the watch delivers them.
	Claim(namespace, name string) (*resourceapi.ResourceClaim, error)
	// ClaimTemplate returns a template that claims are made from.
	ClaimTemplate(namespace, name string) (*resourceapi.ResourceClaimTemplate, error)
}

// NotCreatedError says that a claim has not been made from its template yet. That is a
// matter of moments and nobody's fault.
type NotCreatedError struct {
	PodClaim, Namespace, Template string
}

func (e *NotCreatedError) Error() string {
	return fmt.Sprintf("the ResourceClaim for %s has not been created from ResourceClaimTemplate %s/%s yet", e.PodClaim, e.Namespace, e.Template)
}

// ClaimOf returns the claim behind one entry of pod.spec.resourceClaims; nil without an
// error where the pod needs no claim after all.
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
			return nil, fmt.Errorf("ResourceClaim %s/%s belongs to another pod, although it has the name of the one for this pod: delete that claim, or this pod: %w",
				claim.Namespace, claim.Name, err)
		}
	}
	return claim, checkUsable(pod, claim)
}

// ClaimNamed returns a claim; the error says what to do when there is none.
func ClaimNamed(namespace, name string, claims ClaimReader) (*resourceapi.ResourceClaim, error) {
	claim, err := claims.Claim(namespace, name)
	if err != nil {
		return nil, notFound(err, "ResourceClaim "+namespace+"/"+name)
	}
	return claim, nil
}

// TemplateNamed returns a claim template; the error says what to do when there is none.
func TemplateNamed(namespace, name string, claims ClaimReader) (*resourceapi.ResourceClaimTemplate, error) {
	template, err := claims.ClaimTemplate(namespace, name)
	if err != nil {
		return nil, notFound(err, "ResourceClaimTemplate "+namespace+"/"+name)
	}
	return template, nil
}

// ExtendedClaimOf returns the claim that a scheduler made for the extended resources of a pod,
// which pod.status.extendedResourceClaimStatus names (KEP-5004).
func ExtendedClaimOf(pod *corev1.Pod, claims ClaimReader) (*resourceapi.ResourceClaim, error) {
	claim, err := ClaimNamed(pod.Namespace, pod.Status.ExtendedResourceClaimStatus.ResourceClaimName, claims)
	if err != nil {
		return nil, err
	}
	if err := resourceclaim.IsForPod(pod, claim); err != nil {
		return nil, err
	}
	return claim, nil
}

// missingClaim finds out why a pod has no claim: its template is missing, or the claim is
// on its way.
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

// checkUsable refuses claims that are about to go, unless the pod has its devices already.
func checkUsable(pod *corev1.Pod, claim *resourceapi.ResourceClaim) error {
	if claim.DeletionTimestamp == nil || HeldBy(pod, claim) {
		return nil
	}
	return fmt.Errorf("ResourceClaim %s/%s is being deleted: wait until it is gone and create it again, or use another one", claim.Namespace, claim.Name)
}

// Check looks whether what the claim needs is there: the classes that it asks for, and once it
// is allocated the drivers of its devices. The error names what is missing.
func Check(claim *resourceapi.ResourceClaim, usage *Usage, catalog *Catalog) error {
	if claim.Status.Allocation != nil {
		return checkDrivers(claim, catalog)
	}
	return CheckClasses("ResourceClaim "+claim.Namespace+"/"+claim.Name, usage, catalog)
}

// CheckClasses looks whether the classes of a usage exist. The error names the object that asks
// for them.
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
			return fmt.Errorf("ResourceClaim %s/%s holds device %s, but driver %s publishes no ResourceSlices any more: start the driver again, or delete the claim",
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

// HeldBy reports whether the pod is a consumer of the claim's allocation: the claim is
// reserved for the pod, or was made for it alone.
func HeldBy(pod *corev1.Pod, claim *resourceapi.ResourceClaim) bool {
	return claim.Status.Allocation != nil &&
		(resourceclaim.IsReservedForPod(pod, claim) || resourceclaim.IsForPod(pod, claim) == nil)
}

// PlaceOf is the pod's place among those that the claim is reserved for, in the order in which
// they came; the number of all of them for a pod that is not among them.
func PlaceOf(pod *corev1.Pod, claim *resourceapi.ResourceClaim) int {
	for i, consumer := range claim.Status.ReservedFor {
		if consumer.UID == pod.UID {
			return i
		}
	}
	return len(claim.Status.ReservedFor)
}
