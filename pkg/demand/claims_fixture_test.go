// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// claims is a ClaimReader of claims by name. Every template and class exists.
type claims map[string]*resourceapi.ResourceClaim

func (cs claims) Claim(_, name string) (*resourceapi.ResourceClaim, error) {
	if c, found := cs[name]; found {
		return c, nil
	}
	return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), name)
}

func (claims) ClaimTemplate(_, name string) (*resourceapi.ResourceClaimTemplate, error) {
	return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaimtemplates"), name)
}

func (claims) LostClaims(types.UID) []*resourceapi.ResourceClaim { return nil }

func (cs claims) ExtendedClaim(pod *corev1.Pod) *resourceapi.ResourceClaim {
	for _, c := range cs {
		if dra.IsExtended(c) && metav1.IsControlledBy(c, pod) {
			return c
		}
	}
	return nil
}

// catalog has three classes. Devices of h100 are cards of model H100. Device big has 80Gi.
func catalog() *dra.Catalog {
	var classes []*resourceapi.DeviceClass
	for _, name := range []string{"h100", "a100", "h200"} {
		classes = append(classes, &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	classes[0].Annotations = map[string]string{card.NameAnnotation: "H100"}
	return dra.NewCatalog(classes, []*resourceapi.ResourceSlice{{Spec: resourceapi.ResourceSliceSpec{
		Driver: "driver", NodeName: ptr.To("node"), Pool: resourceapi.ResourcePool{Name: "pool", ResourceSliceCount: 1},
		Devices: []resourceapi.Device{{Name: "big", Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"memory": {Value: resource.MustParse("80Gi")}, "bandwidth": {Value: resource.MustParse("2T")},
		}}, {Name: "bare"}},
	}}})
}

func claim(name string, requests ...resourceapi.ExactDeviceRequest) *resourceapi.ResourceClaim {
	c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name + "-uid")}}
	for _, r := range requests {
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, resourceapi.DeviceRequest{Name: "r", Exactly: &r})
	}
	return c
}

func exactly(class string, count int64) resourceapi.ExactDeviceRequest {
	return resourceapi.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count}
}

func all(class string) resourceapi.ExactDeviceRequest {
	return resourceapi.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeAll}
}

func pod(names ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod"}}
	for _, name := range names {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimName: ptr.To(name)})
	}
	return p
}

func firstAvailable(alternatives ...resourceapi.ExactDeviceRequest) resourceapi.DeviceRequest {
	r := resourceapi.DeviceRequest{Name: "r"}
	for _, a := range alternatives {
		r.FirstAvailable = append(r.FirstAvailable, resourceapi.DeviceSubRequest{
			Name: a.DeviceClassName, DeviceClassName: a.DeviceClassName, AllocationMode: a.AllocationMode, Count: a.Count, Capacity: a.Capacity,
		})
	}
	return r
}

func sized(r resourceapi.ExactDeviceRequest, memory string) resourceapi.ExactDeviceRequest {
	r.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse(memory)}}
	return r
}

// on allocates devices of the catalog to a claim, each for its request r.
func on(c *resourceapi.ResourceClaim, devices ...string) *resourceapi.ResourceClaim {
	c = c.DeepCopy()
	c.Status.Allocation = &resourceapi.AllocationResult{}
	for _, d := range devices {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resourceapi.DeviceRequestAllocationResult{Request: "r", Driver: "driver", Pool: "pool", Device: d})
	}
	return c
}

// scale returns dimensions with a limit on the memory of h100, and a Claims in its first round.
func scale() (*ledger.Dimensions, *Claims) {
	dimensions := &ledger.Dimensions{}
	dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "h100", Capacity: "memory"})
	memory := NewClaims(dimensions)
	memory.Begin(catalog())
	return dimensions, memory
}

// text formats amounts, sorted by the names of their dimensions.
func text(dimensions *ledger.Dimensions, amounts ledger.Amounts) string {
	var all []string
	for _, e := range amounts {
		d := dimensions.Dimension(e.Dimension)
		all = append(all, d.String()+":"+d.Format(e.Amount))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
