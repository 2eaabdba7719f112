// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// class selects the devices whose attribute class lists the name.
func class(name string) *resourceapi.DeviceClass {
	return &resourceapi.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourceapi.DeviceClassSpec{Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{
			Expression: fmt.Sprintf(`device.attributes["driver"].class.contains(%q)`, name),
		}}}},
	}
}

// slice publishes the devices of a node. A word such as h100:40Gi is a device with less memory than 80Gi.
func slice(node, classes string) *resourceapi.ResourceSlice {
	spec := resourceapi.ResourceSliceSpec{Driver: "driver", NodeName: ptr.To(node), Pool: resourceapi.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}}
	counts := map[string]int{}
	for word := range strings.FieldsSeq(classes) {
		class, size, other := strings.Cut(word, ":")
		if !other {
			size = "80Gi"
		}
		device := resourceapi.Device{
			Name:       fmt.Sprintf("%s-%d", class, counts[class]),
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"class": {StringValue: ptr.To(class)}},
			Capacity:   map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse(size)}},
		}
		if class == "bare" {
			device.Attributes["class"], device.Capacity = resourceapi.DeviceAttribute{StringValue: ptr.To("bare h100")}, nil
		}
		counts[class]++
		spec.Devices = append(spec.Devices, device)
	}
	return &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node, ResourceVersion: "1"}, Spec: spec}
}

func withConditions(published *resourceapi.ResourceSlice) {
	for i := range published.Spec.Devices {
		device := &published.Spec.Devices[i]
		device.BindingConditions, device.BindingFailureConditions = []string{"Ready"}, []string{"Broken"}
	}
}

// claim is made for pod p if its name begins with "p-". Otherwise, pods refer to it by name.
func claim(name string, requests ...resourceapi.DeviceRequest) *resourceapi.ResourceClaim {
	c := &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Spec:       resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: requests}},
	}
	if owner, _, made := strings.Cut(name, "-"); made {
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: owner, UID: types.UID(owner), Controller: ptr.To(true)}}
	}
	return c
}

func exactly(class string, count int64) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
	}}
}

// sized asks for one device of a class with a capacity.
func sized(class, capacity, amount string) resourceapi.DeviceRequest {
	r := exactly(class, 1)
	r.Exactly.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{resourceapi.QualifiedName(capacity): resource.MustParse(amount)}}
	return r
}

// firstOf asks for one device of the first class that is available.
func firstOf(classes ...string) resourceapi.DeviceRequest {
	r := resourceapi.DeviceRequest{Name: "r"}
	for _, class := range classes {
		r.FirstAvailable = append(r.FirstAvailable, resourceapi.DeviceSubRequest{
			Name: class, DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
		})
	}
	return r
}

// on allocates devices of a node to a claim.
func on(node string, c *resourceapi.ResourceClaim, devices ...string) *resourceapi.ResourceClaim {
	c.Status.Allocation = &resourceapi.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
	for _, device := range devices {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resourceapi.DeviceRequestAllocationResult{Request: "r", Driver: "driver", Pool: node, Device: device})
	}
	return c
}

// usedBy reserves a claim for pods.
func usedBy(c *resourceapi.ResourceClaim, pods ...string) *resourceapi.ResourceClaim {
	for _, pod := range pods {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: pod, UID: types.UID(pod)})
	}
	return c
}

// podObject is a pod with claims. Claims whose names begin with "<pod>-" are made for it.
func podObject(name string, claims ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{SchedulerName: "volcano"}}
	for _, claim := range claims {
		if !strings.HasPrefix(claim, name+"-") {
			pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimName: ptr.To(claim)})
			continue
		}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimTemplateName: ptr.To("template")})
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: claim, ResourceClaimName: ptr.To(claim)})
	}
	return pod
}
