// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"slices"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/devicequota/devicequota/pkg/chargerecord"
)

func TestReserve(t *testing.T) {
	f := newFixture(t, claim("c"))
	wanted := given(claim("c"), "gpu-0")
	for _, name := range []string{"a", "b"} {
		f.pending.Add(wanted, types.UID(name))
	}
	for _, name := range []string{"a", "b"} {
		f.reserve(pod(name), wanted)
	}
	written := f.claim("c")
	if consumers(written) != "a b" || written.Status.Allocation == nil || !slices.Contains(written.Finalizers, resourceapi.Finalizer) {
		t.Errorf("written: used by %q, allocation %v, finalizers %v", consumers(written), written.Status.Allocation, written.Finalizers)
	}
	if got := chargerecord.Path(written); !slices.Equal(got, []string{"q", "root"}) {
		t.Errorf("the record of the queue is %v", got)
	}
	if f.pending.Of("c-uid") != nil || !f.taken("gpu-0") {
		t.Error("the written claim is still pending, or its device is free")
	}
	f.writer.Release(t.Context(), pod("a"), []*resourceapi.ResourceClaim{wanted})
	if written = f.claim("c"); consumers(written) != "b" || written.Status.Allocation == nil {
		t.Errorf("after a release it is used by %q", consumers(written))
	}
}

// TestARecordIsReplaced covers deallocation, which leaves the finalizer and the record of the previous queue.
func TestARecordIsReplaced(t *testing.T) {
	before := claim("c")
	before.Finalizers, before.Annotations = []string{resourceapi.Finalizer}, map[string]string{chargerecord.QueueAnnotation: "root/other"}
	f := newFixture(t, before)
	wanted := given(before, "gpu-0")
	f.pending.Add(wanted, "a")
	f.reserve(pod("a"), wanted)
	if got := chargerecord.Path(f.claim("c")); !slices.Equal(got, []string{"q", "root"}) {
		t.Errorf("the record of the queue is %v", got)
	}
}

func TestReserveAgainAfterAConflict(t *testing.T) {
	f := newFixture(t, claim("c"))
	wanted := given(claim("c"), "gpu-0")
	f.pending.Add(wanted, "a")
	conflicts := 0
	f.kube.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if conflicts++; conflicts > 2 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(resourceapi.Resource("resourceclaims"), "c", nil)
	})
	if _, err := f.writer.Reserve(t.Context(), pod("a"), []*resourceapi.ResourceClaim{wanted}, "root/q"); err != nil || consumers(f.claim("c")) != "a" {
		t.Errorf("used by %q: %v", consumers(f.claim("c")), err)
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
		{"allocated other devices", taken, "reserve ResourceClaim ns/taken for pod a: it was allocated other devices in the meantime"},
		{"being deleted", going, "reserve ResourceClaim ns/going for pod a: it was deleted in the meantime"},
		{"deleted and created again", replaced, "reserve ResourceClaim ns/replaced for pod a: it was deleted in the meantime"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, claim("good"), c.claim)
			good, bad := given(claim("good"), "gpu-0"), given(claim(c.claim.Name), "gpu-1")
			for _, wanted := range []*resourceapi.ResourceClaim{good, bad} {
				f.pending.Add(wanted, "a")
			}
			_, err := f.writer.Reserve(t.Context(), pod("a"), []*resourceapi.ResourceClaim{good, bad}, "root/q")
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if got := consumers(f.claim("good")); got != "" {
				t.Errorf("the other claim is used by %q", got)
			}
			if f.pending.Of(bad.UID) != nil || f.taken("gpu-1") {
				t.Error("the device is still in use")
			}
		})
	}
}

func TestDeallocate(t *testing.T) {
	const noPod = "no pod"
	for _, c := range []struct {
		name  string
		claim *resourceapi.ResourceClaim
		node  string
		freed bool
	}{
		{"no pod uses it", usedBy("c", "gpu-0"), "", true},
		{"only the pending pod uses it", usedBy("c", "gpu-0", "a"), "", true},
		{"another pod uses it", usedBy("c", "gpu-0", "a", "b"), "", false},
		{"the pod was bound in the meantime", usedBy("c", "gpu-0", "a"), "n1", false},
		{"it was made for no pod", usedBy("c", "gpu-0"), noPod, true},
		{"it was made for no pod, and a pod uses it now", usedBy("c", "gpu-0", "a"), noPod, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, c.claim)
			waiting, now := pod("a"), pod("a")
			now.Spec.NodeName = c.node
			f.createPod(now)
			if c.node == noPod {
				waiting = nil
			}
			f.writer.Deallocate(t.Context(), waiting, c.claim)
			if got := f.claim("c"); (got.Status.Allocation == nil) != c.freed || c.freed && len(got.Status.ReservedFor) > 0 {
				t.Errorf("freed: %t, want %t; used by %q", got.Status.Allocation == nil, c.freed, consumers(got))
			}
		})
	}
}

// TestReleaseLeavesAPodThatWasBound covers a lost answer to a successful binding. Without its reservation, other pods could get the device.
func TestReleaseLeavesAPodThatWasBound(t *testing.T) {
	for node, want := range map[string]string{"": "", "n1": "a"} {
		used := usedBy("c", "gpu-0", "a")
		f := newFixture(t, used)
		now := pod("a")
		now.Spec.NodeName = node
		f.createPod(now)
		f.writer.Release(t.Context(), pod("a"), []*resourceapi.ResourceClaim{used})
		if got := consumers(f.claim("c")); got != want {
			t.Errorf("on node %q, the claim is used by %q, want %q", node, got, want)
		}
	}
}
