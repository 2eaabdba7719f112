// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/utils/ptr"
)

// ExtendedClaimName is the name of an extended claim that is in memory only. No object of the API server can have it.
const ExtendedClaimName = "<extended-resources>"

// ExtendedClaim returns the claim for these extended resources of a pod, like kube-scheduler creates it (KEP-5004), in memory.
// It is nil if the pod requests none of them. classOf returns the class that offers a resource. Resources without a class are
// left out. The same pod and names always get the same UID. The error names the request that cannot become a claim.
func ExtendedClaim(pod *corev1.Pod, names []corev1.ResourceName, classOf func(corev1.ResourceName) string) (*resourceapi.ResourceClaim, error) {
	plan, err := planExtended(&pod.Spec, names, classOf, shareOne)
	if err != nil || len(plan.requests) == 0 {
		return nil, err
	}
	return &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: ExtendedClaimName, UID: extendedUID(pod, names), GenerateName: generateName(pod.Name),
			Annotations: map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true),
			}},
		},
		Spec: plan.spec(),
	}, nil
}

// generateName returns the name that kube-scheduler gives the claim, shortened to the limit of the API server. Generated names are
// shorter in any case.
func generateName(pod string) string {
	const suffix = "-extended-resources-"
	if most := validation.DNS1123SubdomainMaxLength - len(suffix); len(pod) > most {
		pod = strings.TrimRight(pod[:most], "-.")
	}
	return pod + suffix
}

func extendedUID(pod *corev1.Pod, names []corev1.ResourceName) types.UID {
	return pod.UID + types.UID("/extended/"+listOf(slices.Sorted(slices.Values(names))))
}

// ExtendedUsage returns the devices for these extended resources of a pod or a template.
func ExtendedUsage(spec *corev1.PodSpec, names []corev1.ResourceName, classOf func(corev1.ResourceName) string) (Usage, error) {
	plan, err := planExtended(spec, names, classOf, shareOne)
	if err != nil {
		return Usage{}, err
	}
	claim := resourceapi.ResourceClaim{Spec: plan.spec()}
	usage, err := Requested(&claim.Spec)
	resources := map[string]corev1.ResourceName{}
	for _, mapping := range plan.mappings {
		resources[mapping.RequestName] = corev1.ResourceName(mapping.ResourceName)
	}
	usage.SetExtended(&claim, resources)
	return usage, err
}

// SetExtended records the extended resources that the devices of a claim are for. resources maps requests to resources. It is nil if
// the devices are charged like the devices of any claim.
func (u *Usage) SetExtended(claim *resourceapi.ResourceClaim, resources map[string]corev1.ResourceName) {
	for i := range u.Devices {
		var request string
		if claim.Status.Allocation != nil {
			request = claim.Status.Allocation.Devices.Results[i].Request
		} else {
			request = claim.Spec.Devices.Requests[i].Name
		}
		if u.Devices[i].Extended = resources[request]; strings.HasPrefix(string(u.Devices[i].Extended), resourceapi.ResourceDeviceClassPrefix) {
			u.Devices[i].Extended = ""
		}
	}
}

// IsExtended reports whether the claim says that a scheduler made it for extended resources. Users can write this too, unless
// an admission policy refuses it, see [ExtendedNames].
func IsExtended(claim *resourceapi.ResourceClaim) bool {
	return claim.Annotations[resourceapi.ExtendedResourceClaimAnnotation] == "true"
}

// InMemory reports whether an extended claim exists only in memory, without a name from the API server.
func InMemory(claim *resourceapi.ResourceClaim) bool {
	return claim.Name == ExtendedClaimName
}

// ExtendedNames returns the resources of the pod that the extended claim stands for, sorted. It is nil unless the claim belongs to the pod, no other
// pod uses it, and its requests are exactly the requests that this scheduler or some version of kube-scheduler makes for the pod. Otherwise, a user
// may have made the claim to get devices that the pod does not request. The class that offers a resource may have changed since. The caller knows the
// classes.
func ExtendedNames(pod *corev1.Pod, claim *resourceapi.ResourceClaim) []corev1.ResourceName {
	names, _ := planOf(pod, claim)
	return names
}

// ExtendedResources maps the requests of an extended claim to resources. It is nil if [ExtendedNames] is nil.
func ExtendedResources(pod *corev1.Pod, claim *resourceapi.ResourceClaim) map[string]corev1.ResourceName {
	if len(ExtendedNames(pod, claim)) == 0 {
		return nil
	}
	resources := map[string]corev1.ResourceName{}
	for i := range claim.Spec.Devices.Requests {
		request := claim.Spec.Devices.Requests[i].Name
		_, resources[request] = resourceOf(pod, claim.Name, request)
	}
	return resources
}

// RequestMappings returns the requestMappings of pod.status.extendedResourceClaimStatus for the claim: the requests that each
// container uses. It is nil if [ExtendedNames] is nil.
func RequestMappings(pod *corev1.Pod, claim *resourceapi.ResourceClaim) []corev1.ContainerExtendedResourceRequest {
	_, plan := planOf(pod, claim)
	return plan.mappings
}

func planOf(pod *corev1.Pod, claim *resourceapi.ResourceClaim) ([]corev1.ResourceName, extendedPlan) {
	if !belongsTo(pod, claim) || UsedByAnother(pod.UID, claim) {
		return nil, extendedPlan{}
	}
	var names []corev1.ResourceName
	classes := map[corev1.ResourceName]string{}
	written := claim.Spec
	written.Devices.Requests = slices.Clone(claim.Spec.Devices.Requests)
	for i := range written.Devices.Requests {
		request := &written.Devices.Requests[i]
		container, name := resourceOf(pod, claim.Name, request.Name)
		if !maybeOffered(name) || request.Exactly == nil {
			return nil, extendedPlan{}
		}
		if _, known := classes[name]; !known {
			names = append(names, name)
		}
		classes[name] = request.Exactly.DeviceClassName
		request.Name = requestName(container, name, ContainerRequests(containerAt(&pod.Spec, container)))
	}
	classOf := func(name corev1.ResourceName) string { return classes[name] }
	slices.SortFunc(written.Devices.Requests, byName) // Kubernetes 1.34 writes them in any order
	for _, sharing := range []sharing{shareOne, shareSeveral, shareNone} {
		plan, err := planExtended(&pod.Spec, names, classOf, sharing)
		if err == nil && equality.Semantic.DeepEqual(plan.spec(), written) {
			slices.Sort(names)
			return names, plan
		}
	}
	return nil, extendedPlan{}
}

// belongsTo reports whether an extended claim from a [ClaimReader] belongs to the pod. For a bound pod, it ignores fields that users
// can write. The reader has checked that the pod uses the claim.
func belongsTo(pod *corev1.Pod, claim *resourceapi.ResourceClaim) bool {
	if Bound(pod) && !InMemory(claim) {
		status := pod.Status.ExtendedResourceClaimStatus
		return status == nil || status.ResourceClaimName == claim.Name
	}
	return IsExtended(claim) && resourceclaim.IsForPod(pod, claim) == nil
}

// UsedByAnother reports whether a claim is reserved for any pod but this one.
func UsedByAnother(pod types.UID, claim *resourceapi.ResourceClaim) bool {
	return slices.ContainsFunc(claim.Status.ReservedFor, func(user resourceapi.ResourceClaimConsumerReference) bool { return user.UID != pod })
}

// resourceOf returns the container and the resource of a request with this name in a claim. The resource is empty if there is none. The
// name does not change when a resize adds cpu or memory to the container's requests. The status of the pod therefore determines the
// resource.
func resourceOf(pod *corev1.Pod, claim, request string) (container int, name corev1.ResourceName) {
	var position int
	_, err := fmt.Sscanf(request, requestFormat, &container, &position)
	containers := len(pod.Spec.InitContainers) + len(pod.Spec.Containers)
	if err != nil || container < 0 || container >= containers || fmt.Sprintf(requestFormat, container, position) != request {
		return 0, ""
	}
	if status := pod.Status.ExtendedResourceClaimStatus; status != nil && status.ResourceClaimName == claim {
		for _, mapping := range status.RequestMappings {
			if mapping.RequestName == request {
				return container, corev1.ResourceName(mapping.ResourceName)
			}
		}
	}
	requests := slices.Sorted(maps.Keys(ContainerRequests(containerAt(&pod.Spec, container))))
	if position < 0 || position >= len(requests) {
		return 0, ""
	}
	return container, requests[position]
}

// maybeOffered reports whether a class may offer the resource. No class offers resources that Kubernetes itself counts.
func maybeOffered(name corev1.ResourceName) bool {
	text := string(name)
	return strings.HasPrefix(text, resourceapi.ResourceDeviceClassPrefix) ||
		strings.Contains(text, "/") && !strings.Contains(text, corev1.ResourceDefaultNamespacePrefix)
}

func byName(a, b resourceapi.DeviceRequest) int { return cmp.Compare(a.Name, b.Name) }
