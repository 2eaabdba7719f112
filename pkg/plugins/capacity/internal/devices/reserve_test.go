// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// free returns how many devices of a class a new pod of queue r can get on a node, up to three.
func (f *fixture) free(node, class string) int {
	f.Helper()
	for n := 3; n > 0; n-- {
		ask := claim("ask", exactly(class, int64(n)))
		state := &State{pod: &demand.Pod{Object: &corev1.Pod{}}, books: f.books, picks: map[string]*pick{}, effort: dra.NewBudget(dra.BudgetOfSession).Of("", ""), unallocated: []*demand.Claim{{Object: ask, Part: ledger.NewPart(nil)}}}
		f.try(f.session.openAllocator())
		if f.session.Filter(state, f.node(node)) == nil {
			return n
		}
	}
	return 0
}

func TestReserveTakesWhatWasPickedAndUnreservePutsItBack(t *testing.T) {
	for _, c := range []struct {
		name          string
		request       resourceapi.DeviceRequest
		quota         string
		before, after string
	}{
		{name: "a number of devices", request: exactly("h100", 2), before: "h100=2", after: "h100=2"},
		{name: "a choice", request: firstOf("h100", "a100"), quota: "h100=1", after: "h100=1"},
		{name: "a limited capacity", request: exactly("h100", 2), quota: "h100/memory=1Ti", before: "h100=2", after: "h100/memory=160GiB h100=2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, cluster{
				devices: map[string]string{"n1": "h100 h100 h100"}, quotas: map[string]string{"q": c.quota},
				claims: []*resourceapi.ResourceClaim{claim("c", c.request)},
			})
			pod := f.pod("p", "q", "c")
			part, choices := pod.Claims[0].Part, len(pod.Claims[0].Choices)
			if got := f.text(part.Amounts()); got != c.before {
				t.Errorf("before Reserve the claim comes to %q, want %q", got, c.before)
			}
			f.place(pod, "n1")
			if got := f.text(part.Amounts()); got != c.after || len(pod.Claims[0].Choices) > 0 {
				t.Errorf("after Reserve the claim comes to %q and has %d choices, want %q", got, len(pod.Claims[0].Choices), c.after)
			}
			if taken := len(f.cache.pending.Of("c").Status.Allocation.Devices.Results); f.free("n1", "h100") != 3-taken {
				t.Errorf("after Reserve %d devices are free, and %d are taken", f.free("n1", "h100"), taken)
			}
			f.session.Unreserve(pod)
			if got := f.text(part.Amounts()); got != c.before || len(pod.Claims[0].Choices) != choices {
				t.Errorf("after Unreserve the claim comes to %q and has %d choices, want %q", got, len(pod.Claims[0].Choices), c.before)
			}
			if f.free("n1", "h100") != 3 || f.pending("c") != "" {
				t.Errorf("after Unreserve %d devices are free, and %q are in flight", f.free("n1", "h100"), f.pending("c"))
			}
		})
	}
}

func TestReserveCorrectsTheCharge(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": "a100"}, quotas: map[string]string{"q": "a100=1"}, claims: []*resourceapi.ResourceClaim{claim("c", firstOf("h100", "a100"))}})
	pod := f.pod("p", "q", "c")
	f.try(f.books.Charge(pod.Queue, "p", pod.Demand))
	a100 := f.amounts("a100=1")[0]
	for _, step := range []struct {
		name string
		do   func()
		want ledger.Amount
	}{
		{"a claim that may be anything", func() {}, ledger.Amount{}},
		{"once it is reserved", func() { f.place(pod, "n1") }, a100.Amount},
		{"once it is put back", func() { f.session.Unreserve(pod) }, ledger.Amount{}},
	} {
		step.do()
		for _, name := range []string{"q", "root"} {
			queue, _ := f.books.Queue(name)
			if got := f.books.Balance(queue, ledger.Allocated, a100.Dimension); got != step.want {
				t.Errorf("%s: queue %s is charged %s, want %s", step.name, name, got, step.want)
			}
		}
	}
}

func TestPodsThatShareAClaimGetTheSameDevices(t *testing.T) {
	for _, c := range []struct {
		name string
		// early says that the second pod is considered before the first pod gets the devices, as when Volcano returns
		// to an earlier choice of nodes.
		early bool
		node  string
		want  string
	}{
		{name: "one after the other", node: "n1"},
		{name: "both were considered before", early: true, node: "n1"},
		{name: "a pod on another node", early: true, node: "n2", want: "ResourceClaim ns/c has devices elsewhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, cluster{
				devices: map[string]string{"n1": "h100", "n2": "h100"}, quotas: map[string]string{"q": "h100=1"},
				claims: []*resourceapi.ResourceClaim{claim("c", firstOf("h100"))},
			})
			a, b := f.pod("a", "q", "c"), f.pod("b", "q", "c")
			var early *State
			if c.early {
				early = f.preFilter(b)
				if refusal := f.session.Filter(early, f.node(c.node)); refusal != nil {
					t.Fatal(refusal.Message)
				}
			}
			f.place(a, "n1")
			f.try(f.books.Charge(a.Queue, "a", a.Demand))
			if early == nil {
				early = f.preFilter(b)
			}
			err := f.session.Reserve(early, f.node(c.node))
			if err != nil && err.Error() != c.want || err == nil && c.want != "" {
				t.Errorf("Reserve says %v, want %q", err, c.want)
			}
			f.session.Unreserve(a)
			if kept := f.pending("c") == "n1/h100-0"; kept != (c.want == "") {
				t.Errorf("once the first pod is gone, the devices in flight are %q", f.pending("c"))
			}
			f.session.Unreserve(b)
			if f.pending("c") != "" || f.free("n1", "h100") != 1 {
				t.Errorf("once both pods are gone, the devices in flight are %q", f.pending("c"))
			}
		})
	}
}

func TestReservePicksAgainIfDevicesHaveChanged(t *testing.T) {
	for _, c := range []struct{ name, devices, quota, releasing, want, wantErr string }{
		{name: "another device is free", devices: "h100 h100", quota: "h100=2", want: "n1/h100-1"},
		{name: "no other device is free", devices: "h100", quota: "h100=2", wantErr: "node n1 no longer has the devices that were picked"},
		{name: "a releasing pod holds the rest of the quota", devices: "h100 h100", quota: "h100=2", releasing: "h100=1", wantErr: "node n1 no longer has the devices that were picked"},
		{name: "the quota is used up", devices: "h100 h100", quota: "h100=1", wantErr: "node n1 no longer has the devices that were picked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, cluster{
				devices: map[string]string{"n1": c.devices}, quotas: map[string]string{"q": c.quota},
				claims: []*resourceapi.ResourceClaim{claim("c", firstOf("h100")), claim("d", firstOf("h100"))},
			})
			late := f.preFilter(f.pod("late", "q", "d"))
			if refusal := f.session.Filter(late, f.node("n1")); refusal != nil {
				t.Fatal(refusal.Message)
			}
			first := f.pod("first", "q", "c")
			f.place(first, "n1")
			f.try(f.books.Charge(first.Queue, "first", first.Demand))
			if c.releasing != "" {
				f.releasing = ledger.Demand{ledger.NewPart(f.amounts(c.releasing))}
			}
			err := f.session.Reserve(late, f.node("n1"))
			if (err != nil || c.wantErr != "") && (err == nil || err.Error() != c.wantErr) {
				t.Errorf("Reserve says %v, want %q", err, c.wantErr)
			}
			if got := f.pending("d"); got != c.want {
				t.Errorf("the devices in flight are %q, want %q", got, c.want)
			}
		})
	}
}

func TestAJoiningPodGetsWhatItsClaimHasNow(t *testing.T) {
	for name, test := range map[string]struct {
		place func(*fixture, *demand.Pod)
		want  string
	}{
		"nothing any more":       {func(*fixture, *demand.Pod) {}, "n2/h100-0"},
		"a device of this node":  {func(f *fixture, first *demand.Pod) { f.place(first, "n2") }, "n2/h100-0"},
		"the device that it had": {func(f *fixture, first *demand.Pod) { f.place(first, "n1") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, cluster{devices: map[string]string{"n1": "h100", "n2": "h100"}, claims: []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1))}})
			first := f.pod("first", "q", "c")
			f.place(first, "n1")
			second := f.preFilter(f.pod("second", "q", "c"))
			f.session.Unreserve(first)
			test.place(f, first)
			err := f.session.Reserve(second, f.node("n2"))
			if test.want == "" {
				if err == nil || err.Error() != "ResourceClaim ns/c has devices elsewhere" {
					t.Errorf("Reserve says %v", err)
				}
				return
			}
			if err != nil || f.pending("c") != test.want {
				t.Errorf("%s is in flight (%v), want %s", f.pending("c"), err, test.want)
			}
		})
	}
}

func TestNothingIsInFlightForPodsThatAreNotBound(t *testing.T) {
	f := newFixture(t, cluster{
		devices: map[string]string{"n1": "h100 h100"},
		claims:  []*resourceapi.ResourceClaim{claim("c", exactly("h100", 1)), claim("d", exactly("h100", 1))},
	})
	f.place(f.pod("bound", "q", "c"), "n1")
	f.place(f.pod("waits", "q", "d"), "n1")
	f.cache.UnreserveUnbound(func(pod types.UID) bool { return pod == "bound" })
	if f.pending("c") != "n1/h100-0" || f.pending("d") != "" {
		t.Errorf("in flight are %q for the pod that is being bound, and %q for the other one", f.pending("c"), f.pending("d"))
	}
	f.open()
	if f.free("n1", "h100") != 1 {
		t.Errorf("the next session has %d free devices, want 1", f.free("n1", "h100"))
	}
}
