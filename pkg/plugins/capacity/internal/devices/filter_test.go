// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

func TestFilter(t *testing.T) {
	const none = "cannot allocate the devices of the pod's ResourceClaims"
	const lacks = "queue q limits h100/memory, a capacity that device driver/n1/bare-0 of the class does not have: take it out of the queue's quota, or correct its name"
	for _, c := range []struct {
		name   string
		claims []*resourceapi.ResourceClaim
		// devices are the devices of node n1. quota is the quota of queue q.
		devices, quota string
		// want is the refusal of the node. quotaSays is the refusal of the quota.
		want         report.NodeRefusal
		insufficient bool
		quotaSays    string
		// picked has the devices picked on the node.
		picked string
	}{
		{name: "a node with a free device", devices: "h100 h100", claims: []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1))}, picked: "n1/h100-0"},
		{
			name: "a node without devices", claims: []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1))},
			want: report.NodeRefusal{Message: none, Unresolvable: true}, insufficient: true,
		},
		{
			name: "a node whose device is in use outside of all queues", devices: "h100", want: report.NodeRefusal{Message: none, Unresolvable: true}, insufficient: true,
			claims: []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1)), on("n1", claim("other", exactly("h100", 1)), "h100-0")},
		},
		{
			name: "a claim with devices of the node", devices: "h100",
			claims: []*resourceapi.ResourceClaim{on("n1", claim("c", exactly("h100", 1)), "h100-0")},
		},
		{
			name: "a claim with devices of another node", devices: "h100",
			claims: []*resourceapi.ResourceClaim{on("n2", claim("c", exactly("h100", 1)), "h100-0")},
			want:   report.NodeRefusal{Message: "ResourceClaim ns/c has devices elsewhere", Unresolvable: true},
		},
		{
			name: "the alternative without quota is passed over", devices: "h100 a100", quota: "h100=0",
			claims: []*resourceapi.ResourceClaim{claim("c", firstOf("h100", "a100"))}, picked: "n1/a100-0",
			quotaSays: "Queue <q> has insufficient <h100> quota: requested <1>, total would be <1>, but capability is <0>",
		},
		{
			name: "no alternative has quota", devices: "h100 a100", quota: "h100=0 a100=0",
			claims: []*resourceapi.ResourceClaim{claim("c", firstOf("h100", "a100"))},
			want:   report.NodeRefusal{Message: none}, insufficient: true,
			quotaSays: "Queue <q> has insufficient <a100> quota: requested <1>, total would be <1>, but capability is <0>",
		},
		{
			name: "the picked device has more of a limited capacity than the quota", devices: "h100", quota: "h100/memory=79Gi",
			claims: []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1))}, want: report.NodeRefusal{Message: none}, insufficient: true,
			quotaSays: "Queue <q> has insufficient <h100/memory> quota: requested <80GiB>, total would be <80GiB>, but capability is <79GiB>; this does not fit even when the queue is empty: ask for less, or for more quota",
		},
		{
			name: "a smaller device of the class has quota", devices: "h100 h100 h100:40Gi", quota: "h100/memory=40Gi", picked: "n1/h100-2",
			claims:    []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1))},
			quotaSays: "Queue <q> has insufficient <h100/memory> quota: requested <80GiB>, total would be <80GiB>, but capability is <40GiB>; this does not fit even when the queue is empty: ask for less, or for more quota",
		},
		{
			name: "the quota has room for one large and one small device", devices: "h100 h100 h100:40Gi", quota: "h100/memory=120Gi", picked: "n1/h100-0 n1/h100-2",
			claims:    []*resourceapi.ResourceClaim{claim("c", exactly("h100", 2))},
			quotaSays: "Queue <q> has insufficient <h100/memory> quota: requested <160GiB>, total would be <160GiB>, but capability is <120GiB>; this does not fit even when the queue is empty: ask for less, or for more quota",
		},
		{
			name: "another device has the limited capacity", devices: "bare h100", quota: "h100/memory=80Gi", picked: "n1/h100-0",
			claims: []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1))},
		},
		{
			name: "the picked device lacks a limited capacity", devices: "bare", quota: "h100/memory=80Gi",
			claims: []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1))},
			want:   report.NodeRefusal{Message: "The scheduler cannot pick devices: " + lacks}, quotaSays: "The scheduler cannot pick devices: " + lacks,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, cluster{devices: map[string]string{"n1": c.devices}, quotas: map[string]string{"q": c.quota}, claims: c.claims})
			state := f.preFilter(f.pod("p", "q", "c"))
			var got report.NodeRefusal
			if refusal := f.session.Filter(state, f.node("n1")); refusal != nil {
				got = *refusal
			}
			if got != c.want {
				t.Errorf("refusal %+v, want %+v", got, c.want)
			}
			if state.Insufficient() != c.insufficient || messageOf(state.Refusal()) != c.quotaSays {
				t.Errorf("insufficient: %t, want %t; the quota says %q, want %q", state.Insufficient(), c.insufficient, messageOf(state.Refusal()), c.quotaSays)
			}
			var picked string
			if pick := state.picks["n1"]; pick != nil && len(pick.results) > 0 {
				picked = devicesOf(&resourceapi.ResourceClaim{Status: resourceapi.ResourceClaimStatus{Allocation: &pick.results[0]}})
			}
			if picked != c.picked {
				t.Errorf("picked %q, want %q", picked, c.picked)
			}
		})
	}
}

// TestASearchThatEndsSaysSo: there are too many alternatives that must be checked together against the quota.
func TestASearchThatEndsSaysSo(t *testing.T) {
	c := claim("c")
	for i := range 31 {
		request := firstOf("h100", "a100")
		request.Name = fmt.Sprint("r", i)
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, request)
	}
	f := newFixture(t, cluster{
		devices: map[string]string{"n1": strings.Repeat("h100 a100 ", 31), "n2": ""}, quotas: map[string]string{"q": "h100=15 a100=15"}, claims: []*resourceapi.ResourceClaim{c},
	})
	state := f.preFilter(f.pod("p", "q", "c"))
	const want = "The scheduler did not try all devices that the pod may get: ResourceClaims ns/c have <62> requests and alternatives with too many combinations, " +
		"and none of those that were tried is free and within the quota: use fewer alternatives, or more pods with fewer claims each"
	refusal := f.session.Filter(state, f.node("n1"))
	if refusal == nil || refusal.Message != want || messageOf(state.Refusal()) != want {
		t.Errorf("refusal %+v, and the pod is told %q", refusal, messageOf(state.Refusal()))
	}
	again, _ := f.session.PreFilter(state.pod, string(state.pod.Object.UID), f.held(), state)
	if again.effort != state.effort {
		t.Error("a later action searches for as long again")
	}
}

func TestTheRefusalDoesNotDependOnTheOrderOfNodes(t *testing.T) {
	for _, order := range [][]string{{"n1", "n2"}, {"n2", "n1"}} {
		f := newFixture(t, cluster{
			devices: map[string]string{"n1": "h100", "n2": "a100"}, quotas: map[string]string{"q": "h100=0 a100=0"},
			claims: []*resourceapi.ResourceClaim{claim("c", firstOf("h100", "a100"))},
		})
		state := f.preFilter(f.pod("p", "q", "c"))
		for _, node := range order {
			if f.session.Filter(state, f.node(node)) == nil {
				t.Errorf("node %s is suitable", node)
			}
		}
		if got, want := messageOf(state.Refusal()), "Queue <q> has insufficient <a100> quota: requested <1>, total would be <1>, but capability is <0>"; got != want {
			t.Errorf("in the order %v the refusal is %q, want %q", order, got, want)
		}
	}
}

func TestOneNodeWithDevicesIsEnough(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": "", "n2": "h100"}, claims: []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1))}})
	state := f.preFilter(f.pod("p", "q", "c"))
	for node, suitable := range map[string]bool{"n1": false, "n2": true} {
		if (f.session.Filter(state, f.node(node)) == nil) != suitable {
			t.Errorf("node %s is suitable: %t", node, !suitable)
		}
	}
	// The next action may not filter the nodes by devices.
	next, _ := f.session.PreFilter(state.pod, string(state.pod.Object.UID), f.held(), state)
	if state.Insufficient() || next.Insufficient() {
		t.Error("devices are insufficient although node n2 has one")
	}
}

// TestWhatReleasingPodsHoldCounts: in the ledger of the session, the pods are gone, but they still have their devices.
func TestWhatReleasingPodsHoldCounts(t *testing.T) {
	f := newFixture(t, cluster{
		devices: map[string]string{"n1": "h100 h100"}, quotas: map[string]string{"q": "h100=1"},
		claims: []*resourceapi.ResourceClaim{claim("c", firstOf("h100"))},
	})
	pod := f.pod("p", "q", "c")
	state := f.preFilter(pod)
	if refusal := f.session.Filter(state, f.node("n1")); refusal != nil {
		t.Fatalf("refused while nobody holds a device: %s", refusal.Message)
	}
	f.releasing = ledger.Demand{ledger.NewPart(f.amounts("h100=1"))}
	if f.session.Filter(f.preFilter(pod), f.node("n1")) == nil {
		t.Error("a node is suitable although a releasing pod has what the quota allows")
	}
}

// TestCardsOfTheNodeCountWithItsDevices: a class may name a card that device plugins also provide.
func TestCardsOfTheNodeCountWithItsDevices(t *testing.T) {
	for quota, suitable := range map[string]bool{"h100=1": false, "h100=2": true} {
		f := newFixture(t, cluster{
			devices: map[string]string{"n1": "h100"}, quotas: map[string]string{"q": quota}, claims: []*resourceapi.ResourceClaim{claim("c", firstOf("h100"))},
		})
		f.session.CardsOn = func(*demand.Pod, *corev1.Node) *ledger.Part { return ledger.NewPart(f.amounts("h100=1")) }
		if got := f.session.Filter(f.preFilter(f.pod("p", "q", "c")), f.node("n1")) == nil; got != suitable {
			t.Errorf("with the quota %s the node is suitable: %t", quota, got)
		}
	}
}
