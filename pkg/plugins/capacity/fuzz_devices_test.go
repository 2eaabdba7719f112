// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/card"
)

const fuzzDriver = "driver.example.com"

// fuzzModels has the device model of each class. The class any has the devices of all models.
var fuzzModels = map[string]string{"h100": "h100", "a100": "a100", "carded": "a100", "part": "part", "mig": "mig", "any": ""}

func (c *fuzzCluster) put(resource string, object interface {
	runtime.Object
	metav1.Object
}) {
	object.SetResourceVersion(c.nextVersion())
	c.marked = c.marked && resource == "resourceclaims"
	kind := resourcev1.SchemeGroupVersion.WithResource(resource)
	if _, err := c.kube.Tracker().Get(kind, object.GetNamespace(), object.GetName()); err != nil {
		c.try(c.kube.Tracker().Create(kind, object, object.GetNamespace()))
		return
	}
	c.try(c.kube.Tracker().Update(kind, object, object.GetNamespace()))
}

// remove deletes an object of resource.k8s.io if it exists.
func (c *fuzzCluster) remove(resource, namespace, name string) {
	c.marked = c.marked && resource == "resourceclaims"
	_ = c.kube.Tracker().Delete(schema.GroupVersionResource{Group: resourcev1.GroupName, Version: "v1", Resource: resource}, namespace, name)
	c.note("%s %s is deleted", resource, name)
}

func (c *fuzzCluster) addClass(name string) {
	class := &resourcev1.DeviceClass{ObjectMeta: c.meta(name, "")}
	if model := fuzzModels[name]; model != "" {
		class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.attributes[%q].model == %q", fuzzDriver, model)}}}
	}
	if name == "carded" {
		class.Annotations[card.NameAnnotation] = "A100"
	}
	c.offerResource(class)
	c.put("deviceclasses", class)
}

// changeSlice publishes new devices for a node.
func (c *fuzzCluster) changeSlice(node string) {
	spec := resourcev1.ResourceSliceSpec{Driver: fuzzDriver, NodeName: ptr.To(node), Pool: resourcev1.ResourcePool{Name: node, Generation: c.version.Load(), ResourceSliceCount: 1}}
	if c.oneIn(8) {
		spec.NodeName, spec.AllNodes = nil, ptr.To(true)
	}
	add := func(model, memory string, count int, change func(*resourcev1.Device)) {
		for i := range count {
			device := resourcev1.Device{
				Name:       fmt.Sprint(model, "-", i),
				Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: ptr.To(model)}},
				Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse(memory)}},
			}
			if change != nil {
				change(&device)
			}
			spec.Devices = append(spec.Devices, device)
		}
	}
	add("h100", "80Gi", c.under(5), nil)
	add("a100", "40Gi", c.under(4), nil)
	add("part", "80Gi", c.under(2), func(d *resourcev1.Device) {
		d.AllowMultipleAllocations = ptr.To(true)
		d.Capacity["memory"] = resourcev1.DeviceCapacity{Value: resource.MustParse("80Gi"), RequestPolicy: &resourcev1.CapacityRequestPolicy{
			Default: ptr.To(resource.MustParse("10Gi")), ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: ptr.To(resource.MustParse("5Gi")), Step: ptr.To(resource.MustParse("5Gi"))},
		}}
	})
	c.put("resourceslices", &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: spec})
	c.note("ResourceSlice %s: %s", node, deviceNames(spec.Devices))
	c.changePartitions(node)
}

// changePartitions publishes partitions of a node in a separate pool. They share a counter, and one of them can be shared itself.
func (c *fuzzCluster) changePartitions(node string) {
	if c.oneIn(3) {
		return
	}
	name := node + "-mig"
	spec := resourcev1.ResourceSliceSpec{Driver: fuzzDriver, NodeName: ptr.To(node), Pool: resourcev1.ResourcePool{Name: name, Generation: c.version.Load(), ResourceSliceCount: 1}}
	spec.SharedCounters = []resourcev1.CounterSet{{Name: "gpu", Counters: map[string]resourcev1.Counter{"memory": {Value: resource.MustParse("40Gi")}}}}
	for i := range 3 {
		spec.Devices = append(spec.Devices, resourcev1.Device{
			Name:             fmt.Sprint("mig-", i),
			Attributes:       map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: ptr.To("mig")}},
			Capacity:         map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("20Gi")}},
			ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "gpu", Counters: map[string]resourcev1.Counter{"memory": {Value: resource.MustParse("20Gi")}}}},
		})
	}
	last := &spec.Devices[len(spec.Devices)-1] // as MIG with MPS
	last.AllowMultipleAllocations = ptr.To(true)
	last.Capacity["memory"] = resourcev1.DeviceCapacity{Value: resource.MustParse("20Gi"), RequestPolicy: &resourcev1.CapacityRequestPolicy{Default: ptr.To(resource.MustParse("10Gi"))}}
	c.put("resourceslices", &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	c.note("ResourceSlice %s: %s", name, deviceNames(spec.Devices))
}

func deviceNames(devices []resourcev1.Device) string {
	var names []string
	for _, d := range devices {
		names = append(names, d.Name)
	}
	return strings.Join(names, " ")
}

// claimSpec returns a claim that asks for devices. Rarely, it is wrong.
func (c *fuzzCluster) claimSpec() resourcev1.ResourceClaimSpec {
	var spec resourcev1.ResourceClaimSpec
	for i := range 1 + c.under(2) {
		request := resourcev1.DeviceRequest{Name: fmt.Sprint("r", i)}
		if c.oneIn(4) {
			for j := range 2 {
				e := c.exactly()
				request.FirstAvailable = append(request.FirstAvailable, resourcev1.DeviceSubRequest{
					Name: fmt.Sprint("s", j), DeviceClassName: e.DeviceClassName, AllocationMode: e.AllocationMode, Count: e.Count, Capacity: e.Capacity,
				})
			}
		} else if !c.oneIn(30) {
			request.Exactly = c.exactly()
		}
		spec.Devices.Requests = append(spec.Devices.Requests, request)
		if c.oneIn(2) {
			break
		}
	}
	return spec
}

func (c *fuzzCluster) exactly() *resourcev1.ExactDeviceRequest {
	e := &resourcev1.ExactDeviceRequest{
		DeviceClassName: choose(c.fuzzInput, "h100", "a100", "carded", "part", "mig", "h100", "any"), AllocationMode: resourcev1.DeviceAllocationModeExactCount,
		Count: choose[int64](c.fuzzInput, 1, 1, 1, 2),
	}
	if e.DeviceClassName == "part" {
		e.Count = 1
		if c.oneIn(2) {
			e.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(choose(c.fuzzInput, "7Gi", "10Gi", "40Gi"))}}
		}
	}
	if !c.odd(6) {
		return e
	}
	switch c.under(4) {
	case 0:
		e.AllocationMode, e.Count = resourcev1.DeviceAllocationModeAll, 0
	case 1:
		e.AdminAccess = ptr.To(true)
	case 2:
		e.DeviceClassName = "gone"
	case 3:
		e.Count = choose[int64](c.fuzzInput, 0, -1, 1<<62)
	}
	return e
}

// addClaimsTo makes a pod refer to claims and templates, some of which do not exist.
func (c *fuzzCluster) addClaimsTo(pod *corev1.Pod) {
	for i := range 1 + c.under(2) {
		reference := corev1.PodResourceClaim{Name: fmt.Sprint("c", i)}
		if c.oneIn(3) {
			reference.ResourceClaimName = ptr.To(choose(c.fuzzInput, "shared0", "shared1", "shared0", "shared2"))
		} else {
			reference.ResourceClaimTemplateName = ptr.To(choose(c.fuzzInput, "t0", "t1", "t2", "t3"))
			if c.odd(4) {
				reference.ResourceClaimTemplateName = ptr.To("nothing")
			}
		}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, reference)
		if c.oneIn(2) {
			return
		}
	}
}

// createClaims creates the claims of a pod from their templates, as Kubernetes does.
func (c *fuzzCluster) createClaims(pod *corev1.Pod) {
	changed := pod.DeepCopy()
	for _, reference := range pod.Spec.ResourceClaims {
		name := pod.Name + "-" + reference.Name
		if reference.ResourceClaimTemplateName == nil || c.claim(name) != nil {
			continue
		}
		template, err := c.kube.ResourceV1().ResourceClaimTemplates("ns").Get(context.Background(), *reference.ResourceClaimTemplateName, metav1.GetOptions{})
		if err != nil {
			continue
		}
		claim := &resourcev1.ResourceClaim{ObjectMeta: c.meta(name, "ns"), Spec: *template.Spec.Spec.DeepCopy()}
		claim.Annotations["resource.kubernetes.io/pod-claim-name"] = reference.Name
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}}
		c.put("resourceclaims", claim)
		c.note("ResourceClaim %s: %s", name, requestsOf(&claim.Spec))
		changed.Status.ResourceClaimStatuses = append(changed.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: reference.Name, ResourceClaimName: ptr.To(name)})
	}
	if len(changed.Status.ResourceClaimStatuses) > len(pod.Status.ResourceClaimStatuses) {
		c.putPod(changed)
	}
}

func requestsOf(spec *resourcev1.ResourceClaimSpec) string {
	var words []string
	one := func(name, class string, mode resourcev1.DeviceAllocationMode, count int64, admin *bool) string {
		return fmt.Sprintf("%s=%s:%s:%d:%v", name, class, mode, count, ptr.Deref(admin, false))
	}
	for _, r := range spec.Devices.Requests {
		if r.Exactly != nil {
			words = append(words, one(r.Name, r.Exactly.DeviceClassName, r.Exactly.AllocationMode, r.Exactly.Count, r.Exactly.AdminAccess))
		}
		for _, s := range r.FirstAvailable {
			words = append(words, one(r.Name+"/"+s.Name, s.DeviceClassName, s.AllocationMode, s.Count, nil))
		}
	}
	return strings.Join(words, " ")
}

func claimNames(pod *corev1.Pod) string {
	var words []string
	for _, r := range pod.Spec.ResourceClaims {
		words = append(words, ptr.Deref(r.ResourceClaimName, "")+ptr.Deref(r.ResourceClaimTemplateName, ""))
	}
	return strings.Join(words, " ")
}

// writeAllocation gives a claim a status that another scheduler, a controller or a user may have written.
func (c *fuzzCluster) writeAllocation(claim *resourcev1.ResourceClaim) {
	claim.Status = resourcev1.ResourceClaimStatus{}
	kind := c.under(6)
	if kind != 0 && len(claim.Spec.Devices.Requests) > 0 {
		request := claim.Spec.Devices.Requests[0].Name
		if len(claim.Spec.Devices.Requests[0].FirstAvailable) > 0 {
			request += "/s0"
		}
		if kind == 1 {
			request = "unknown"
		}
		claim.Status.Allocation = &resourcev1.AllocationResult{}
		for range 1 + c.under(2) {
			claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results, resourcev1.DeviceRequestAllocationResult{
				Request: request, Driver: fuzzDriver, Pool: choose(c.fuzzInput, "n1", "n2", "gone"), Device: choose(c.fuzzInput, "h100-0", "h100-1", "a100-0", "part-0", "gone"),
			})
		}
		claim.Finalizers = []string{resourcev1.Finalizer}
	}
	consumers := c.under(3)
	if c.oneIn(10) {
		consumers = resourcev1.ResourceClaimReservedForMaxSize
	}
	for i := range consumers {
		consumer := resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: fmt.Sprint("ghost", i), UID: types.UID(fmt.Sprint("ghost", i))}
		if i < len(c.pods) && c.oneIn(2) {
			pod := c.pods[c.under(len(c.pods))]
			consumer.Name, consumer.UID = pod.Name, pod.UID
		}
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, consumer)
	}
	c.writeClaim(claim)
	c.note("ResourceClaim %s: written %+v", claim.Name, claim.Status)
}
