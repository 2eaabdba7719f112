// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"errors"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestWithoutACacheThereAreNoClaims(t *testing.T) {
	if _, err := (ClaimReader{}).Claim("ns", "c"); !errors.Is(err, ErrNotEnabled) {
		t.Errorf("Claim says %v", err)
	}
	if _, err := (ClaimReader{}).ClaimTemplate("ns", "t"); !errors.Is(err, ErrNotEnabled) {
		t.Errorf("ClaimTemplate says %v", err)
	}
	if now, inUse := (ClaimReader{}).InUse(claim("c")); now != nil || inUse {
		t.Errorf("a claim is in use: %v", now)
	}
}

func TestClaimReaderReadsWhatIsInFlight(t *testing.T) {
	f := newFixture(t, cluster{
		devices: map[string]string{"n1": "h100"},
		claims:  []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1)), on("n1", claim("written", exactly("h100", 1)), "h100-9"), claim("idle", exactly("h100", 1))},
	})
	f.place(f.pod("p", "q", "c"), "n1")
	reader := ClaimReader{f.cache}
	replaced := claim("c")
	replaced.UID = "earlier"
	for _, c := range []struct {
		name  string
		claim *resourceapi.ResourceClaim
		want  string
		inUse bool
	}{
		{"a claim in flight", claim("c"), "n1/h100-0", true},
		{"a claim that is written", claim("written"), "n1/h100-9", true},
		{"a claim without devices", claim("idle"), "", false},
		{"a claim that does not exist", claim("lost"), "", false},
		{"a claim that was deleted and created again", replaced, "", false},
	} {
		if now, inUse := reader.InUse(c.claim); devicesOf(now) != c.want || inUse != c.inUse {
			t.Errorf("%s has devices %q, want %q, and is in use: %t", c.name, devicesOf(now), c.want, inUse)
		}
	}
	if _, err := reader.Claim("ns", "lost"); !apierrors.IsNotFound(err) {
		t.Errorf("a claim that does not exist: %v", err)
	}
}
