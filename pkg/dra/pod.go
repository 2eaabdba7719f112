package dra

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// Source gives the objects that pods refer to. Each method returns an error that
// apierrors.IsNotFound recognizes when there is no such object.
type Source interface {
	// Claim returns a claim as this scheduler knows it, its own allocations included
	// before the API server has told of them.
	Claim(namespace, name string) (*resourceapi.ResourceClaim, error)
	// ClaimTemplateExists is nil when there is such a template.
	ClaimTemplateExists(namespace, name string) error
	// DeviceClassExists is nil when there is such a class.
	DeviceClassExists(name string) error
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
func ClaimOf(pod *corev1.Pod, podClaim *corev1.PodResourceClaim, source Source) (*resourceapi.ResourceClaim, error) {
	name, ownedByPod, err := resourceclaim.Name(pod, podClaim)
	if err != nil {
		return nil, missingClaim(pod, podClaim, source, err)
	}
	if name == nil {
		return nil, nil
	}
	claim, err := source.Claim(pod.Namespace, *name)
	if err != nil {
		return nil, notFound(err, "ResourceClaim "+pod.Namespace+"/"+*name)
	}
	if ownedByPod {
		return claim, resourceclaim.IsForPod(pod, claim)
	}
	return claim, nil
}

// missingClaim finds out why a pod has no claim: its template is missing, or the claim is
// on its way.
func missingClaim(pod *corev1.Pod, podClaim *corev1.PodResourceClaim, source Source, cause error) error {
	if podClaim.ResourceClaimTemplateName == nil {
		return cause
	}
	template := *podClaim.ResourceClaimTemplateName
	if err := source.ClaimTemplateExists(pod.Namespace, template); err != nil {
		return notFound(err, "ResourceClaimTemplate "+pod.Namespace+"/"+template)
	}
	return &NotCreatedError{PodClaim: podClaim.Name, Namespace: pod.Namespace, Template: template}
}

// CheckClasses reports the first class that the claim asks for and that does not exist. A
// claim that is allocated needs no class any more.
func CheckClasses(claim *resourceapi.ResourceClaim, usage Usage, source Source) error {
	if claim.Status.Allocation != nil {
		return nil
	}
	classes := slices.Clone(usage.Open)
	for _, d := range usage.Devices {
		classes = append(classes, d.Class)
	}
	for _, class := range classes {
		if err := source.DeviceClassExists(class); err != nil {
			return fmt.Errorf("ResourceClaim %s/%s: %w", claim.Namespace, claim.Name, notFound(err, "DeviceClass "+class))
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
