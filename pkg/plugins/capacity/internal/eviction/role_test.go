// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"crypto/sha256"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
)

// TestRolesAreSmallHoweverLargeClaimsAre: a job's pods may name claims of some megabytes, which are read once.
func TestRolesAreSmallHoweverLargeClaimsAre(t *testing.T) {
	claim := func(class string) *resourceapi.ResourceClaim {
		c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: types.UID(class)}}
		c.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: class}}}
		c.Spec.Devices.Config = []resourceapi.DeviceClaimConfiguration{{DeviceConfiguration: resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{
			Driver: "d", Parameters: runtime.RawExtension{Raw: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)},
		}}}}
		return c
	}
	allocated := claim("h100")
	allocated.UID, allocated.Status.Allocation = "allocated", &resourceapi.AllocationResult{}
	r := &roles{}
	of := func(uid, labels string, c *resourceapi.ResourceClaim) string {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Labels: map[string]string{"of": labels}}}
		return r.of(&api.TaskInfo{UID: api.TaskID(uid), Pod: pod}, &demand.Pod{Claims: []*demand.Claim{{Object: c}}})
	}
	h100, again, h200 := claim("h100"), claim("h100"), claim("h200")
	keys := map[string]bool{}
	for _, key := range []string{of("1", "a", h100), of("2", "a", h100), of("3", "a", again), of("4", "b", h100), of("5", "a", h200), of("6", "a", allocated)} {
		if len(key) > 2*sha256.Size {
			t.Errorf("a key has %d bytes", len(key))
		}
		keys[key] = true
	}
	if len(keys) != 4 || len(r.claims) != 3 {
		t.Errorf("got %d roles of %d claims, want 4 of 3", len(keys), len(r.claims))
	}
}
