package allocation

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/dynamic-resource-allocation/structured"
)

// ground is an API server that has some claims, and what works on it.
type ground struct {
	*testing.T
	kube    *fake.Clientset
	reader  *Reader
	pending *Pending
	writer  *Writer
}

func newGround(t *testing.T, claims ...*resourceapi.ResourceClaim) *ground {
	var objects []runtime.Object
	for _, claim := range claims {
		objects = append(objects, claim)
	}
	g := &ground{T: t, kube: fake.NewClientset(objects...)}
	var err error
	if g.reader, err = NewReader(g.kube); err != nil {
		t.Fatal(err)
	}
	g.eventually("the reader is ready", g.reader.Ready)
	g.pending = NewPending(g.reader)
	g.writer = NewWriter(g.kube, g.reader, g.pending)
	return g
}

func (g *ground) eventually(what string, condition func() bool) {
	g.Helper()
	err := wait.PollUntilContextTimeout(g.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		g.Fatalf("%s: %v", what, err)
	}
}

func (g *ground) claim(name string) *resourceapi.ResourceClaim {
	g.Helper()
	claim, err := g.kube.ResourceV1().ResourceClaims("ns").Get(g.Context(), name, metav1.GetOptions{})
	if err != nil {
		g.Fatal(err)
	}
	return claim
}

// taken reports whether the allocator sees the device of a claim as taken.
func (g *ground) taken(device string) bool {
	state, err := g.reader.manager.ResourceClaims().GatherAllocatedState()
	if err != nil {
		g.Fatal(err)
	}
	return state.AllocatedDevices.Has(structured.MakeDeviceID("driver", "pool", device))
}

func claim(name string) *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name + "-uid"), ResourceVersion: "1"}}
}

// given is a copy of a claim with a device.
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

func TestPending(t *testing.T) {
	g := newGround(t, claim("c"))
	first, second := given(claim("c"), "gpu-0"), given(claim("c"), "gpu-1")
	for _, pod := range []types.UID{"a", "b"} {
		if err := g.pending.Add(first, pod); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.pending.Add(second, "c"); err != nil || g.pending.Of("c-uid") != first {
		t.Errorf("a later allocation replaces the one that others rely on: %v", err)
	}
	if !g.taken("gpu-0") || g.taken("gpu-1") {
		t.Error("the device that is pending is not taken, or another is")
	}
	for _, pod := range []types.UID{"a", "a", "c"} {
		if g.pending.Drop("c-uid", pod) != nil {
			t.Error("the device is free although a pod needs it")
		}
	}
	if got := g.pending.Drop("c-uid", "b"); got != first.Status.Allocation || g.taken("gpu-0") || g.pending.Of("c-uid") != nil {
		t.Error("the device is not free when the last pod is gone")
	}
}

func TestReserve(t *testing.T) {
	g := newGround(t, claim("c"))
	wanted := given(claim("c"), "gpu-0")
	for _, name := range []string{"a", "b"} {
		if err := g.pending.Add(wanted, types.UID(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		if err := g.writer.Reserve(t.Context(), pod(name), []*resourceapi.ResourceClaim{wanted}); err != nil {
			t.Fatal(err)
		}
	}
	written := g.claim("c")
	if consumers(written) != "a b" || written.Status.Allocation == nil || !slices.Contains(written.Finalizers, resourceapi.Finalizer) {
		t.Errorf("written: used by %q, allocation %v, finalizers %v", consumers(written), written.Status.Allocation, written.Finalizers)
	}
	if g.pending.Of("c-uid") != nil || !g.taken("gpu-0") {
		t.Error("what is written is still pending, or free")
	}
	g.writer.Release(t.Context(), pod("a"), []*resourceapi.ResourceClaim{wanted})
	if written = g.claim("c"); consumers(written) != "b" || written.Status.Allocation == nil {
		t.Errorf("after a release it is used by %q", consumers(written))
	}
}

func TestReserveAgainAfterAConflict(t *testing.T) {
	g := newGround(t, claim("c"))
	wanted := given(claim("c"), "gpu-0")
	if err := g.pending.Add(wanted, "a"); err != nil {
		t.Fatal(err)
	}
	conflicts := 0
	g.kube.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if conflicts++; conflicts > 2 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(resourceapi.Resource("resourceclaims"), "c", nil)
	})
	if err := g.writer.Reserve(t.Context(), pod("a"), []*resourceapi.ResourceClaim{wanted}); err != nil || consumers(g.claim("c")) != "a" {
		t.Errorf("used by %q: %v", consumers(g.claim("c")), err)
	}
}

func TestReserveAllOrNothing(t *testing.T) {
	taken := given(claim("taken"), "gpu-9")
	going := claim("going")
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"example.com/keep"}
	replaced := claim("replaced")
	replaced.UID = "another"
	for _, c := range []struct {
		name  string
		claim *resourceapi.ResourceClaim
		want  string
	}{
		{"given other devices", taken, "reserve ResourceClaim ns/taken for pod a: it was given other devices meanwhile"},
		{"being deleted", going, "reserve ResourceClaim ns/going for pod a: it was deleted meanwhile"},
		{"deleted and made again", replaced, "reserve ResourceClaim ns/replaced for pod a: it was deleted meanwhile"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGround(t, claim("good"), c.claim)
			good, bad := given(claim("good"), "gpu-0"), given(claim(c.claim.Name), "gpu-1")
			for _, wanted := range []*resourceapi.ResourceClaim{good, bad} {
				if err := g.pending.Add(wanted, "a"); err != nil {
					t.Fatal(err)
				}
			}
			err := g.writer.Reserve(t.Context(), pod("a"), []*resourceapi.ResourceClaim{good, bad})
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if got := consumers(g.claim("good")); got != "" {
				t.Errorf("the other claim is used by %q", got)
			}
			if g.pending.Of(bad.UID) != nil || g.taken("gpu-1") {
				t.Error("the device is still reserved")
			}
		})
	}
}

func TestDeallocate(t *testing.T) {
	used := func(names ...string) *resourceapi.ResourceClaim {
		c := given(claim("c"), "gpu-0")
		for _, name := range names {
			c.Status.ReservedFor = append(c.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: name, UID: types.UID(name)})
		}
		return c
	}
	for _, c := range []struct {
		name  string
		claim *resourceapi.ResourceClaim
		node  string
		freed bool
	}{
		{"nobody uses it", used(), "", true},
		{"the pod that waits uses it", used("a"), "", true},
		{"another pod uses it", used("a", "b"), "", false},
		{"the pod was bound meanwhile", used("a"), "n1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGround(t, c.claim)
			waiting, now := pod("a"), pod("a")
			now.Spec.NodeName = c.node
			if _, err := g.kube.CoreV1().Pods("ns").Create(t.Context(), now, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			g.writer.Deallocate(t.Context(), waiting, c.claim)
			if got := g.claim("c"); (got.Status.Allocation == nil) != c.freed || c.freed && len(got.Status.ReservedFor) > 0 {
				t.Errorf("freed: %t, want %t; used by %q", got.Status.Allocation == nil, c.freed, consumers(got))
			}
		})
	}
}

// TestCatalogIsMadeAnewWhenSomethingChanges, and only then.
func TestCatalogIsMadeAnewWhenSomethingChanges(t *testing.T) {
	g := newGround(t)
	before := g.reader.Catalog()
	if g.reader.Catalog() != before {
		t.Error("nothing has changed, and there is another catalog")
	}
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "h100"}}
	if _, err := g.kube.ResourceV1().DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	g.eventually("the class is in the catalog", func() bool {
		_, found := g.reader.Catalog().Class("h100")
		return found
	})
}
