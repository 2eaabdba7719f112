// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/allocation/allocationtest"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/readiness"
)

// fixture is an API server with some claims, and a reader, a pending set and a writer on it.
type fixture struct {
	*testing.T
	kube    *fake.Clientset
	reader  *Reader
	pending *Pending
	writer  *Writer
}

func newFixture(t *testing.T, claims ...*resourceapi.ResourceClaim) *fixture {
	var objects []runtime.Object
	for _, claim := range claims {
		objects = append(objects, claim)
	}
	f := &fixture{T: t, kube: fake.NewClientset(objects...)}
	allocationtest.PatchesAreUpdates(f.kube)
	pods := informers.NewSharedInformerFactory(f.kube, 0)
	var err error
	if f.reader, err = NewReader(t.Context(), f.kube, readiness.NewInformers(clock.RealClock{}), pods.Core().V1().Pods()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.reader.Shutdown)
	t.Cleanup(pods.Shutdown)
	pods.Start(t.Context().Done())
	f.eventually("the reader is ready", f.reader.Ready)
	for _, resource := range []string{"pods", "resourceclaims", "deviceclasses"} {
		f.eventually(resource+" are watched", func() bool { return watches(f.kube, resource) > 0 })
	}
	f.pending = NewPending(f.reader)
	f.writer = NewWriter(f.kube, f.reader, f.pending, clock.RealClock{})
	return f
}

// podsOf returns an informer of the pods of an API server that has not started.
func podsOf(kube *fake.Clientset) coreinformers.PodInformer {
	return informers.NewSharedInformerFactory(kube, 0).Core().V1().Pods()
}

func (f *fixture) eventually(what string, condition func() bool) {
	f.Helper()
	err := wait.PollUntilContextTimeout(f.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		f.Fatalf("%s: %v", what, err)
	}
}

// watches returns how often a resource of a fake API server is watched. It does not send changes between an informer's list and
// its watch.
func watches(kube *fake.Clientset, resource string) (watches int) {
	for _, action := range kube.Actions() {
		if action.Matches("watch", resource) {
			watches++
		}
	}
	return watches
}

func (f *fixture) claim(name string) *resourceapi.ResourceClaim {
	f.Helper()
	claim, err := f.kube.ResourceV1().ResourceClaims("ns").Get(f.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	return claim
}

// createPod creates a pod in the API server. The reader may not have it yet.
func (f *fixture) createPod(p *corev1.Pod) {
	f.Helper()
	if _, err := f.kube.CoreV1().Pods("ns").Create(f.Context(), p, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) deleteClaim(name string) {
	f.Helper()
	if err := f.kube.ResourceV1().ResourceClaims("ns").Delete(f.Context(), name, metav1.DeleteOptions{}); err != nil {
		f.Fatal(err)
	}
}

// reserve reserves a claim for a pod that is charged to queue q.
func (f *fixture) reserve(pod *corev1.Pod, wanted *resourceapi.ResourceClaim) {
	f.Helper()
	if _, err := f.writer.Reserve(f.Context(), pod, []*resourceapi.ResourceClaim{wanted}, "root/q"); err != nil {
		f.Fatal(err)
	}
}

// taken reports whether a device is in use or about to be.
func (f *fixture) taken(device string) bool {
	f.Helper()
	return f.pick(resourceapi.Device{Name: device}, &resourceapi.ExactDeviceRequest{}) == nil
}

// pick asks a new allocator for a device when only this device is published.
func (f *fixture) pick(device resourceapi.Device, request *resourceapi.ExactDeviceRequest) []resourceapi.AllocationResult {
	f.Helper()
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "any"}}
	slice := &resourceapi.ResourceSlice{Spec: resourceapi.ResourceSliceSpec{
		Driver: "driver", NodeName: ptr.To("n1"), Pool: resourceapi.ResourcePool{Name: "pool", ResourceSliceCount: 1}, Devices: []resourceapi.Device{device},
	}}
	request.DeviceClassName, request.AllocationMode, request.Count = class.Name, resourceapi.DeviceAllocationModeExactCount, 1
	asking := claim("asking")
	asking.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "r", Exactly: request}}
	allocator, _, err := f.pending.Allocator(dra.NewCatalog([]*resourceapi.DeviceClass{class}, []*resourceapi.ResourceSlice{slice}))
	if err != nil {
		f.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	picked, err := allocator.Pick(f.Context(), node, []*resourceapi.ResourceClaim{asking}, dra.Quota{Accepts: func([]resourceapi.AllocationResult) bool { return true }}, dra.NewBudget(dra.BudgetOfSession).Of("", "").Node())
	if err != nil {
		f.Fatal(err)
	}
	return picked
}

func claim(name string) *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "1"}}
}

// given returns a copy of a claim with one allocated device.
func given(c *resourceapi.ResourceClaim, device string) *resourceapi.ResourceClaim {
	c = c.DeepCopy()
	c.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
		{Request: "r", Driver: "driver", Pool: "pool", Device: device},
	}}}
	return c
}

// usedBy returns a claim with a device, reserved for pods.
func usedBy(name, device string, pods ...string) *resourceapi.ResourceClaim {
	c := given(claim(name), device)
	for _, name := range pods {
		c.Status.ReservedFor = append(c.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: name, UID: pod(name).UID})
	}
	return c
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
}

func consumers(c *resourceapi.ResourceClaim) string {
	var names []string
	for _, consumer := range c.Status.ReservedFor {
		names = append(names, consumer.Name)
	}
	return strings.Join(names, " ")
}
