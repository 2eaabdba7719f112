// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/demand"
)

func TestClaimsToBind(t *testing.T) {
	for _, c := range []struct {
		name    string
		claims  []*resourceapi.ResourceClaim
		reserve bool
		want    string
		wantErr string
	}{
		{name: "devices that are reserved", claims: []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1))}, reserve: true, want: "n1/h100-0"},
		{name: "devices that the claim has", claims: []*resourceapi.ResourceClaim{on("n2", claim("c", exactly("h100", 1)), "h100-5")}, want: "n2/h100-5"},
		{
			name: "devices that nobody reserved", claims: []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1))},
			wantErr: "no devices are reserved for ResourceClaim ns/c",
		},
		{name: "a claim that does not exist", wantErr: "ResourceClaim ns/c does not exist: create it or correct the name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: c.claims})
			pod := f.pod("p", "q", "c")
			if c.reserve {
				f.place(pod, "n1")
			}
			claims, err := f.session.ClaimsToBind(pod)
			if (err != nil || c.wantErr != "") && (err == nil || err.Error() != c.wantErr) {
				t.Errorf("error %v, want %q", err, c.wantErr)
			}
			if err == nil && (len(claims) != 1 || devicesOf(claims[0]) != c.want) {
				t.Errorf("%d claims to bind, want devices %q", len(claims), c.want)
			}
		})
	}
}

// bind writes what is reserved for a pod.
func (f *fixture) bind(pod *demand.Pod) []*resourceapi.ResourceClaim {
	f.Helper()
	claims, err := f.session.ClaimsToBind(pod)
	f.try(err)
	_, err = f.cache.PreBind(f.Context(), pod.Object, claims, "root/q", ConditionWait{Timeout: bindingTimeout})
	f.try(err)
	return claims
}

func TestPreBindWritesWhatIsReserved(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1))}})
	pod := f.pod("p", "q", "c")
	f.place(pod, "n1")
	f.bind(pod)
	written := f.claim("c")
	if devicesOf(written) != "n1/h100-0" || len(written.Status.ReservedFor) != 1 || written.Status.ReservedFor[0].Name != "p" {
		t.Errorf("written are devices %q for %v", devicesOf(written), written.Status.ReservedFor)
	}
	if f.pending("c") != "" {
		t.Error("the claim is still in flight")
	}
	f.session.Unreserve(pod)
	if f.free("n1", "h100") != 0 {
		t.Error("Unreserve puts back a device that is written")
	}
	if f.open(); f.free("n1", "h100") != 0 {
		t.Error("the next session hands out a device that is written")
	}
}

func TestUndoPreBind(t *testing.T) {
	for _, c := range []struct {
		name, claim string
		devices     string
	}{
		{"devices of a claim that was made for the pod are free again", "p-gpu", ""},
		{"devices of a claim that pods name stay allocated", "c", "n1/h100-0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{claim(c.claim, exactly("h100", 1))}})
			pod := f.pod("p", "q", c.claim)
			f.place(pod, "n1")
			f.cache.UndoPreBind(t.Context(), pod.Object, f.bind(pod))
			if now := f.claim(c.claim); devicesOf(now) != c.devices || len(now.Status.ReservedFor) > 0 {
				t.Errorf("the claim has devices %q, want %q, and is used by %v", devicesOf(now), c.devices, now.Status.ReservedFor)
			}
		})
	}
}
