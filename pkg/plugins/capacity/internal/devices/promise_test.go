// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestPromise: node n1 has three devices. Claim c, which pods a and b share, has two of them.
func TestPromise(t *testing.T) {
	for _, c := range []struct {
		name    string
		request resourceapi.DeviceRequest
		quota   string
		leaving []string
		fails   bool
	}{
		{name: "what is free", request: exactly("h100", 1)},
		{name: "more than is free", request: exactly("h100", 2), fails: true},
		{name: "what one of two pods that share a claim leaves", request: exactly("h100", 2), leaving: []string{"a"}, fails: true},
		{name: "what both leave", request: exactly("h100", 3), leaving: []string{"a", "b"}},
		{name: "more than there is", request: exactly("h100", 4), leaving: []string{"a", "b"}, fails: true},
		{name: "a choice for which there is no device", request: firstOf("a100"), leaving: []string{"a", "b"}, fails: true},
		{name: "a choice for which there is no quota", request: firstOf("h100", "a100"), quota: "h100=0 a100=1", leaving: []string{"a", "b"}, fails: true},
		{name: "a choice for which there is quota when pods have left", request: firstOf("h100", "a100"), quota: "h100=2", leaving: []string{"a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, cluster{
				devices: map[string]string{"n1": "h100 h100 h100"}, quotas: map[string]string{"q": c.quota},
				claims: []*resourceapi.ResourceClaim{usedBy(on("n1", claim("c", exactly("h100", 2)), "h100-0", "h100-1"), "a", "b"), claim("wanted", c.request)},
			})
			pods := map[string]*demand.Pod{"a": f.pod("a", "q", "c"), "b": f.pod("b", "q", "c")}
			for name, pod := range pods {
				f.try(f.books.Charge(pod.Queue, ledger.Holder(name), pod.Demand))
			}
			var leaving []*demand.Pod
			for _, name := range c.leaving {
				leaving = append(leaving, pods[name])
			}
			pod := f.pod("p", "q", "wanted")
			state := f.preFilter(pod)
			if _, err := f.session.Obtainable(state, f.node("n1"), leaving); (err != nil) != c.fails {
				t.Errorf("obtainable: %v", err)
			}
			if got := f.free("n1", "h100"); got != 1 {
				t.Errorf("after the question %d devices are free, want 1", got)
			}
			if err := f.session.Promise(state, f.node("n1"), leaving); (err != nil) != c.fails {
				t.Errorf("promised: %v", err)
			}
			if f.books.Charged(pod.Claims[0].Part) || f.pending("wanted") != "" {
				t.Error("a promise allocates devices")
			}
			f.session.Unreserve(pod)
			if got := f.free("n1", "h100"); got != 1 {
				t.Errorf("after Unreserve %d devices are free, want 1", got)
			}
		})
	}
}

func TestNobodyElseGetsWhatIsPromised(t *testing.T) {
	f := newFixture(t, cluster{
		devices: map[string]string{"n1": "h100 h100 h100"},
		claims: []*resourceapi.ResourceClaim{
			usedBy(on("n1", claim("c", exactly("h100", 2)), "h100-0", "h100-1"), "a"), claim("two", exactly("h100", 2)), claim("one", exactly("h100", 1)), claim("more", exactly("h100", 1)),
		},
	})
	leaving := []*demand.Pod{f.pod("a", "q", "c")}
	first, second, third := f.pod("first", "q", "two"), f.pod("second", "q", "one"), f.pod("third", "q", "more")
	f.try(f.session.Promise(f.preFilter(first), f.node("n1"), leaving))
	f.try(f.session.Promise(f.preFilter(second), f.node("n1"), leaving))
	if err := f.session.Promise(f.preFilter(third), f.node("n1"), leaving); err == nil {
		t.Error("four devices of three are promised")
	}
	if got := f.free("n1", "h100"); got != 0 {
		t.Errorf("%d devices are free, although all are in use or promised", got)
	}
	f.session.Unreserve(first)
	f.try(f.session.Promise(f.preFilter(third), f.node("n1"), leaving))
	f.session.Unreserve(second)
	f.session.Unreserve(third)
	if got := f.free("n1", "h100"); got != 1 {
		t.Errorf("%d devices are free when nothing is promised any more, want 1", got)
	}
}

// TestWhatIsFreedDuringASessionIsPromised: the pod that had the device of node n1 is gone. Its claim loses the device after the session has read which
// devices are in use. Otherwise, another pod is evicted in vain.
func TestWhatIsFreedDuringASessionIsPromised(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": "h100"}, claims: []*resourceapi.ResourceClaim{
		usedBy(on("n1", claim("c", exactly("h100", 1)), "h100-0"), "gone"), claim("wanted", exactly("h100", 1)),
	}})
	f.session.Leaving = func(claim *resourceapi.ResourceClaim) bool { return claim.Name == "c" }
	state := f.preFilter(f.pod("p", "q", "wanted"))
	f.deallocateClaim("c")
	f.try(f.session.Promise(state, f.node("n1"), nil))
}

// TestFilterKnowsWhereEvictionsAreInVain: node n1 has three devices. A pod of a queue has one, and a pod outside of all queues has one.
func TestFilterKnowsWhereEvictionsAreInVain(t *testing.T) {
	for _, c := range []struct {
		count  int64
		inVain bool
	}{{2, false}, {3, true}, {4, true}} {
		f := newFixture(t, cluster{devices: map[string]string{"n1": "h100 h100 h100"}, claims: []*resourceapi.ResourceClaim{
			usedBy(on("n1", claim("c", exactly("h100", 1)), "h100-0"), "a"), usedBy(on("n1", claim("d", exactly("h100", 1)), "h100-1"), "stranger"), claim("wanted", exactly("h100", c.count)),
		}})
		pod := f.pod("a", "q", "c")
		f.try(f.books.Charge(pod.Queue, "a", pod.Demand))
		waits := f.pod("p", "q", "wanted")
		state := f.preFilter(waits)
		refusal := f.session.Filter(state, f.node("n1"))
		if refusal == nil || refusal.Unresolvable != c.inVain {
			t.Errorf("%d devices: %+v, to evict pods is in vain: %t", c.count, refusal, c.inVain)
		}
		// The next action may not filter the node by devices.
		if next, _ := f.session.PreFilter(waits, string(waits.Object.UID), f.held(), state); !next.Insufficient() {
			t.Errorf("%d devices: the next action does not know that the node lacks devices", c.count)
		}
	}
}

// TestPodsThatShareAClaimArePromisedTheSameDevices: node n1 has two devices, which pod a has. The pods of a gang share a claim.
func TestPodsThatShareAClaimArePromisedTheSameDevices(t *testing.T) {
	f := newFixture(t, cluster{
		devices: map[string]string{"n1": "h100 h100", "n2": "h100 h100"},
		claims: []*resourceapi.ResourceClaim{
			usedBy(on("n1", claim("c", exactly("h100", 2)), "h100-0", "h100-1"), "a"), claim("shared", exactly("h100", 2)), claim("own", exactly("h100", 1)),
		},
	})
	leaving := []*demand.Pod{f.pod("a", "q", "c")}
	first, second, other := f.pod("first", "q", "shared"), f.pod("second", "q", "shared"), f.pod("other", "q", "own")
	f.try(f.session.Promise(f.preFilter(first), f.node("n1"), leaving))
	if _, err := f.session.Obtainable(f.preFilter(second), f.node("n1"), leaving); err != nil {
		t.Errorf("the second pod that shares the claim: %v", err)
	}
	if err := f.session.Promise(f.preFilter(second), f.node("n1"), leaving); err != nil {
		t.Errorf("the second pod that shares the claim: %v", err)
	}
	if _, err := f.session.Obtainable(f.preFilter(second), f.node("n2"), nil); err == nil {
		t.Error("the second pod can be promised devices of another node for the claim that it shares")
	}
	f.session.Unreserve(first)
	if err := f.session.Promise(f.preFilter(other), f.node("n1"), leaving); err == nil {
		t.Error("what the second pod is promised still is promised to another pod when the first is undone")
	}
	f.session.Unreserve(second)
	f.try(f.session.Promise(f.preFilter(other), f.node("n1"), leaving))
	f.session.Unreserve(other)
	if got := f.free("n1", "h100"); got != 0 {
		t.Errorf("%d devices are free, want 0", got)
	}
}
