// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clienttesting "k8s.io/client-go/testing"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/ptr"
)

// TestDevicesThatWereGivenUpAreNotWritten deletes pod a while it waits for its binding. Pod b gets another device for the same
// claim, and then a's goroutine continues.
func TestDevicesThatWereGivenUpAreNotWritten(t *testing.T) {
	f := newFixture(t, claim("c"))
	givenUp, chosen := given(claim("c"), "gpu-0"), given(claim("c"), "gpu-1")
	f.pending.Add(givenUp, "a")
	f.pending.Keep(func(types.UID) bool { return false }) // a is no longer being bound
	f.pending.Add(chosen, "b")
	_, err := f.writer.Reserve(t.Context(), pod("a"), []*resourceapi.ResourceClaim{givenUp}, "root/q")
	if err == nil || !strings.Contains(err.Error(), "its devices were released in the meantime") {
		t.Errorf("error %v", err)
	}
	if written := f.claim("c"); written.Status.Allocation != nil || f.pending.Of("c-uid") != chosen {
		t.Errorf("written: %v; pending: %v", written.Status, f.pending.Of("c-uid"))
	}
	f.reserve(pod("b"), chosen)
	if got := f.claim("c").Status.Allocation.Devices.Results[0].Device; got != "gpu-1" {
		t.Errorf("the claim has %s, want gpu-1", got)
	}
}

// TestAShareCountsOnce checks a share while it is pending and after it is written, in this allocator and in the next ones.
func TestAShareCountsOnce(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRAConsumableCapacity, true)
	f := newFixture(t, claim("c"))
	quantity := resource.MustParse("40Gi")
	wanted := given(claim("c"), "gpu")
	result := &wanted.Status.Allocation.Devices.Results[0]
	result.ShareID, result.ConsumedCapacity = ptr.To(types.UID("share")), map[resourceapi.QualifiedName]resource.Quantity{"memory": quantity}
	device := resourceapi.Device{Name: "gpu", AllowMultipleAllocations: ptr.To(true),
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi"), RequestPolicy: &resourceapi.CapacityRequestPolicy{
			Default: &quantity, ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: ptr.To(resource.MustParse("1Gi")), Step: ptr.To(resource.MustParse("1Gi"))}}}}}
	fits := func(memory string) bool {
		return f.pick(device, &resourceapi.ExactDeviceRequest{Capacity: &resourceapi.CapacityRequirements{
			Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse(memory)}}}) != nil
	}
	expect := func(when, memory string, want bool) {
		t.Helper()
		if got := fits(memory); got != want {
			t.Errorf("%s, %s fit: %t, want %t", when, memory, got, want)
		}
	}
	expect("at first", "80Gi", true)
	f.pending.Add(wanted, "a")
	expect("while 40Gi are pending", "40Gi", true)
	expect("while 40Gi are pending", "41Gi", false)
	f.reserve(pod("a"), wanted)
	for _, when := range []string{"in the first allocator after the write", "in the second one", "in the third one"} {
		expect(when, "40Gi", true)
		expect(when, "41Gi", false)
	}
}

// TestAGangThatSharesAClaimDoesNotConflict uses an API server that refuses updates of old versions.
func TestAGangThatSharesAClaimDoesNotConflict(t *testing.T) {
	const pods = 64 // the fake API server panics if an informer is 100 changes behind
	f := newFixture(t, claim("c"))
	var conflicts atomic.Int32
	f.kube.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
		update := action.(clienttesting.UpdateAction).GetObject().(*resourceapi.ResourceClaim)
		stored, err := f.kube.Tracker().Get(resourceapi.SchemeGroupVersion.WithResource("resourceclaims"), "ns", "c")
		if err != nil {
			return true, nil, err
		}
		version := stored.(*resourceapi.ResourceClaim).ResourceVersion
		if update.ResourceVersion != version {
			conflicts.Add(1)
			return true, nil, apierrors.NewConflict(resourceapi.Resource("resourceclaims"), "c", nil)
		}
		n, err := strconv.Atoi(version)
		update.ResourceVersion = strconv.Itoa(n + 1)
		return false, nil, err
	})
	wanted := given(claim("c"), "gpu-0")
	var gang sync.WaitGroup
	for i := range pods {
		f.pending.Add(wanted, types.UID("p"+strconv.Itoa(i)))
	}
	for i := range pods {
		gang.Go(func() {
			if _, err := f.writer.Reserve(t.Context(), pod("p"+strconv.Itoa(i)), []*resourceapi.ResourceClaim{wanted}, "root/q"); err != nil {
				t.Error(err)
			}
		})
	}
	gang.Wait()
	if n := len(f.claim("c").Status.ReservedFor); n != pods || conflicts.Load() > 0 {
		t.Errorf("%d pods have the claim after %d conflicts, want %d and none", n, conflicts.Load(), pods)
	}
}

func TestPending(t *testing.T) {
	f := newFixture(t, claim("c"))
	first, second := given(claim("c"), "gpu-0"), given(claim("c"), "gpu-1")
	for _, pod := range []types.UID{"a", "b"} {
		f.pending.Add(first, pod)
	}
	f.pending.Add(second, "c")
	if f.pending.Of("c-uid") != first {
		t.Error("a later allocation replaces the first one")
	}
	if !f.taken("gpu-0") || f.taken("gpu-1") {
		t.Error("the pending device is free, or the other one is not")
	}
	for _, pod := range []types.UID{"a", "a", "c"} {
		if f.pending.Drop("c-uid", pod) != nil {
			t.Error("the allocation is dropped although another pod needs it")
		}
	}
	if got := f.pending.Drop("c-uid", "b"); got != first.Status.Allocation || f.taken("gpu-0") || f.pending.Of("c-uid") != nil {
		t.Error("the device is not free although the last pod was dropped")
	}
}
