// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const twice = "device driver/n1/h100-0 is allocated to ResourceClaims ns/theirs and ns/c at the same time"

// TestAPodDoesNotUseADeviceOfAnotherClaim: another scheduler has also allocated the device. The claim gets another
// device, unless another pod uses the claim.
func TestAPodDoesNotUseADeviceOfAnotherClaim(t *testing.T) {
	theirs := usedBy(on("n1", claim("theirs", exactly("h100", 1)), "h100-0"), "stranger")
	for _, c := range []struct {
		name  string
		claim *resourceapi.ResourceClaim
		freed bool
	}{
		{"nobody else uses the claim", on("n1", claim("c", exactly("h100", 1)), "h100-0"), true},
		{"another pod uses the claim", usedBy(on("n1", claim("c", exactly("h100", 1)), "h100-0"), "friend"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, cluster{devices: map[string]string{"n1": "h100 h100"}, claims: []*resourceapi.ResourceClaim{theirs, c.claim}})
			if conflicts := f.session.Conflicts(); len(conflicts) != 1 {
				t.Fatalf("conflicts: %v", conflicts)
			}
			_, refusal := f.session.PreFilter(f.pod("p", "q", "c"), "p", f.held(), nil)
			if got := messageOf(refusal); !strings.HasPrefix(got, "ResourceClaim ns/c cannot be used: device driver/n1/h100-0 is allocated to ResourceClaims") {
				t.Errorf("PreFilter says %q", got)
			}
			f.try(f.cache.background.Wait())
			if freed := f.claim("c").Status.Allocation == nil; freed != c.freed {
				t.Fatalf("the claim is deallocated: %t, want %t", freed, c.freed)
			}
			if !c.freed {
				return
			}
			f.eventually("the conflict is over", func() bool { return len(f.session.Conflicts()) == 0 })
			f.open()
			f.place(f.pod("p", "q", "c"), "n1")
			if got := f.pending("c"); got != "n1/h100-1" {
				t.Errorf("the claim gets %s, want n1/h100-1", got)
			}
		})
	}
}

// TestReserveSeesTheLatestAllocations: another scheduler allocates the device after it was picked.
func TestReserveSeesTheLatestAllocations(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1)), claim("theirs", exactly("h100", 1))}})
	state := f.preFilter(f.pod("p", "q", "c"))
	if refusal := f.session.Filter(state, f.node("n1")); refusal != nil {
		t.Fatal(refusal.Message)
	}
	theirs := usedBy(on("n1", f.claim("theirs"), "h100-0"), "stranger")
	_, err := f.kube.ResourceV1().ResourceClaims("ns").UpdateStatus(t.Context(), theirs, metav1.UpdateOptions{})
	f.try(err)
	wanted := on("n1", claim("c"), "h100-0")
	f.eventually("the allocation is read", func() bool { return f.session.conflictOf(state.pod, wanted) != nil })
	got := fmt.Sprint(f.session.Reserve(state, f.node("n1")))
	if got != twice || f.pending("c") != "" {
		t.Errorf("Reserve says %q, and %q are in flight", got, f.pending("c"))
	}
}
