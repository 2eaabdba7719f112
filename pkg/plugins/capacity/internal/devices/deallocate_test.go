// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

func TestDeallocate(t *testing.T) {
	for _, c := range []struct {
		name  string
		claim *resourceapi.ResourceClaim
		kept  bool
	}{
		{name: "a claim that was made for the pod", claim: on("n1", claim("p-gpu", exactly("h100", 1)), "h100-0")},
		{name: "and is reserved for it", claim: usedBy(on("n1", claim("p-gpu", exactly("h100", 1)), "h100-0"), "p")},
		{name: "a claim that pods name", claim: on("n1", claim("c", exactly("h100", 1)), "h100-0"), kept: true},
		{name: "a claim that pods name and whose node is gone", claim: on("gone", claim("c", exactly("h100", 1)), "h100-0")},
		{name: "such a claim that another pod uses", claim: usedBy(on("gone", claim("c", exactly("h100", 1)), "h100-0"), "p", "other"), kept: true},
		{
			name: "a claim whose devices every node can use", kept: true,
			claim: func() *resourceapi.ResourceClaim {
				c := on("gone", claim("c", exactly("h100", 1)), "h100-0")
				c.Status.Allocation.NodeSelector = nil
				return c
			}(),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{c.claim}})
			f.session.Deallocate(f.preFilter(f.pod("p", "q", c.claim.Name)))
			f.try(f.cache.background.Wait())
			if kept := f.claim(c.claim.Name).Status.Allocation != nil; kept != c.kept {
				t.Errorf("the claim keeps its devices: %t, want %t", kept, c.kept)
			}
		})
	}
}

func TestAnAllocationInFlightIsNotDeallocated(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{claim("p-gpu", exactly("h100", 1))}})
	f.place(f.pod("p", "q", "p-gpu"), "n1")
	f.session.Deallocate(f.preFilter(f.pod("p", "q", "p-gpu")))
	f.try(f.cache.background.Wait())
	if f.pending("p-gpu") != "n1/h100-0" {
		t.Error("the devices in flight are gone")
	}
}

// block blocks every read of a claim from the API server until release is closed. It returns a channel with an entry for each read.
func (f *fixture) block(release chan struct{}) chan struct{} {
	reads := make(chan struct{}, 100)
	f.kube.PrependReactor("get", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		reads <- struct{}{}
		<-release
		return false, nil, nil
	})
	return reads
}

func TestFewClaimsAreDeallocatedAtTheSameTime(t *testing.T) {
	const limit = 8
	var has cluster
	has.devices = map[string]string{"n1": ""}
	var names []string
	for i := range limit + 1 {
		names = append(names, fmt.Sprint("p-", i))
		has.claims = append(has.claims, on("n1", claim(names[i], exactly("h100", 1)), fmt.Sprint("h100-", i)))
	}
	has.devices["n1"] = "h100"
	f := newFixture(t, has)
	f.cache.background.SetLimit(limit)
	release := make(chan struct{})
	reads := f.block(release)
	pod := f.pod("p", "q", names...)
	state := f.preFilter(pod)
	f.session.Deallocate(state)
	f.session.Deallocate(state) // once at a time for a claim
	<-reads
	if _, refusal := f.session.PreFilter(pod, "p", f.books, nil); messageOf(refusal) != "ResourceClaim ns/p-0 is losing devices that its pod cannot use" {
		t.Errorf("meanwhile, PreFilter says %q", messageOf(refusal))
	}
	close(release)
	f.try(f.cache.background.Wait())
	if len(reads) != limit-1 {
		t.Errorf("%d claims are read, want %d", len(reads)+1, limit)
	}
	for i, name := range names {
		if kept := f.claim(name).Status.Allocation != nil; kept != (i == limit) {
			t.Errorf("claim %s keeps its devices: %t", name, kept)
		}
	}
	f.eventually("the reader knows", func() bool {
		claims, err := f.cache.Allocated()
		return err == nil && len(claims) == 1
	})
	f.open()
	f.session.Deallocate(f.preFilter(f.pod("p", "q", names...)))
	f.try(f.cache.background.Wait())
	if f.claim(names[limit]).Status.Allocation != nil {
		t.Error("the claim beyond the limit keeps its devices in the next session")
	}
}

func TestShutdownWaitsForDeallocations(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{on("n1", claim("p-gpu", exactly("h100", 1)), "h100-0")}})
	release := make(chan struct{})
	reads := f.block(release)
	f.session.Deallocate(f.preFilter(f.pod("p", "q", "p-gpu")))
	<-reads
	stopped := make(chan struct{})
	f.cancel()
	go func() {
		f.cache.Shutdown()
		close(stopped)
	}()
	select {
	case <-stopped:
		t.Error("Shutdown returns while a claim is deallocated")
	default:
	}
	close(release)
	<-stopped
	object, err := f.kube.Tracker().Get(resourceapi.SchemeGroupVersion.WithResource("resourceclaims"), "ns", "p-gpu", metav1.GetOptions{})
	f.try(err)
	if object.(*resourceapi.ResourceClaim).Status.Allocation != nil {
		t.Error("Shutdown returns before the claim is deallocated")
	}
}
