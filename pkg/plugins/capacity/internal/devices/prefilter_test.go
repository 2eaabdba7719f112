// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPreFilterRefusesClaimsThatAPodCannotUseNow(t *testing.T) {
	var crowd []string
	for i := range resourceapi.ResourceClaimReservedForMaxSize {
		crowd = append(crowd, fmt.Sprint("other", i))
	}
	for _, c := range []struct {
		name string
		// claim is what pod p of queue q asks for.
		claim *resourceapi.ResourceClaim
		// before happens before pod p is considered.
		before func(*fixture)
		want   string
	}{
		{name: "a claim without devices", claim: claim("c", exactly("h100", 1))},
		{name: "a claim that has devices", claim: on("n1", claim("c", exactly("h100", 1)), "h100-0")},
		{
			name: "a claim that as many pods use as may share one", claim: usedBy(on("n1", claim("c", exactly("h100", 1)), "h100-0"), crowd...),
			want: "ResourceClaim ns/c is used by 256 pods, which is the most that can share one: use another one",
		},
		{name: "unless the pod is one of them", claim: usedBy(on("n1", claim("c", exactly("h100", 1)), "h100-0"), append(crowd[1:], "p")...)},
		{
			name: "a claim that is being allocated for a pod of another queue", claim: claim("c", exactly("h100", 1)),
			before: func(f *fixture) { f.placeAndCharge("first", "r", "n1", "c") },
			want:   "ResourceClaim ns/c is being allocated for a pod of another queue: this pod can share it afterwards",
		},
		{
			name: "but one of its own queue", claim: claim("c", exactly("h100", 1)),
			before: func(f *fixture) { f.placeAndCharge("first", "q", "n1", "c") },
		},
		{
			name: "a claim that is losing its devices", claim: on("n2", claim("c", exactly("h100", 1)), "h100-0"),
			before: func(f *fixture) { f.cache.deallocating.Store(types.UID("c"), true) },
			want:   "ResourceClaim ns/c is losing devices that its pod cannot use",
		},
		{
			name: "an allocation in flight that failed during the session", claim: claim("c", exactly("h100", 1)),
			before: func(f *fixture) {
				f.place(f.pod("first", "q", "c"), "n1")
				f.open()
				f.pod("second", "q", "c") // the session begins with the allocation
				f.cache.UnreserveUnbound(func(types.UID) bool { return false })
			},
			want: "ResourceClaim ns/c was about to be allocated, which failed: the scheduler tries again",
		},
		{
			name: "an allocation whose node selector is invalid",
			claim: func() *resourceapi.ResourceClaim {
				c := on("n1", claim("c", exactly("h100", 1)), "h100-0")
				c.Status.Allocation.NodeSelector.NodeSelectorTerms[0].MatchFields[0].Operator = "Near"
				return c
			}(),
			want: `ResourceClaim ns/c: its allocation's nodeSelector: nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Near": supported values: "In", "NotIn"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{c.claim}})
			if c.before != nil {
				c.before(f)
			}
			state, refusal := f.session.PreFilter(f.pod("p", "q", "c"), "p", f.books, nil)
			if messageOf(refusal) != c.want || (state == nil) != (c.want != "") {
				t.Errorf("refusal %q, want %q", messageOf(refusal), c.want)
			}
		})
	}
}

// placeAndCharge places a pod that is charged, as the plugin does.
func (f *fixture) placeAndCharge(name, queue, node string, claims ...string) {
	f.Helper()
	pod := f.pod(name, queue, claims...)
	f.place(pod, node)
	f.try(f.books.Charge(pod.Queue, "first", pod.Demand))
}
