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
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/dynamic-resource-allocation/structured"
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
	var err error
	if f.reader, err = NewReader(t.Context(), f.kube); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.reader.Shutdown)
	f.eventually("the reader is ready", f.reader.Ready)
	f.pending = NewPending(f.reader)
	f.writer = NewWriter(f.kube, f.reader, f.pending)
	return f
}

func (f *fixture) eventually(what string, condition func() bool) {
	f.Helper()
	err := wait.PollUntilContextTimeout(f.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		f.Fatalf("%s: %v", what, err)
	}
}

func (f *fixture) claim(name string) *resourceapi.ResourceClaim {
	f.Helper()
	claim, err := f.kube.ResourceV1().ResourceClaims("ns").Get(f.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	return claim
}

// taken reports whether a device is in use or about to be.
func (f *fixture) taken(device string) bool {
	state, err := f.reader.manager.ResourceClaims().GatherAllocatedState()
	if err != nil {
		f.Fatal(err)
	}
	return state.AllocatedDevices.Has(structured.MakeDeviceID("driver", "pool", device))
}

func claim(name string) *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "1"}}
}

// given returns a copy of a claim that is allocated one device.
func given(c *resourceapi.ResourceClaim, device string) *resourceapi.ResourceClaim {
	c = c.DeepCopy()
	c.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
		{Request: "r", Driver: "driver", Pool: "pool", Device: device},
	}}}
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
