// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// large has as many requests for one device as given. Each may get a device of any class, in eight alternatives.
func large(name string, requests int, classes ...string) *resourceapi.ResourceClaim {
	c := claim(name)
	for r := range requests {
		request := resourceapi.DeviceRequest{Name: fmt.Sprint("r", r)}
		for a := range 8 {
			request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{
				Name: fmt.Sprint("a", a), DeviceClassName: classes[a%len(classes)], AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
			})
		}
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, request)
	}
	return c
}

// filter filters a node for a pod, and reports whether effort was spent on it. If none was, what is granted for the node is left to other
// nodes in full or not at all.
func (f *fixture) filter(state *State, node string) (refusal *report.NodeRefusal, searched bool) {
	f.Helper()
	skipped := &dra.Effort{}
	skipped.Skip()
	granted := skipped.Available() - (&dra.Effort{}).Available()
	before := state.effort.Available()
	refusal = f.session.Filter(state, f.node(node))
	left := state.effort.Available() - before
	return refusal, left < 0 || left%granted != 0
}

// again filters a node in the next session.
func (f *fixture) again(pod, node string, claims ...string) (state *State, refusal *report.NodeRefusal, searched bool) {
	f.Helper()
	f.open()
	state = f.preFilter(f.pod(pod, "q", claims...))
	refusal, searched = f.filter(state, node)
	return state, refusal, searched
}

// changed waits until a change of devices or of what is published is read.
func (f *fixture) changed(what string, change func() error) {
	f.Helper()
	version, catalog := f.cache.DevicesVersion(), f.cache.Catalog()
	f.try(change())
	f.eventually(what, func() bool { return f.cache.DevicesVersion() != version || f.cache.Catalog() != catalog })
}

func (f *fixture) updateSlice(node string, change func(*resourceapi.ResourceSlice)) {
	f.Helper()
	f.changed("the slice of node "+node, func() error {
		changed := slice(node, "h100 h100 h100 h100")
		changed.ResourceVersion = "2"
		change(changed)
		_, err := f.kube.ResourceV1().ResourceSlices().Update(f.Context(), changed, metav1.UpdateOptions{})
		return err
	})
}

func (f *fixture) updateNode(name string, change func(*corev1.Node)) {
	f.Helper()
	node := f.node(name).DeepCopy()
	change(node)
	f.try(f.nodes.Update(node))
}

func (f *fixture) updateClaim(name string, change func(*resourceapi.ResourceClaim)) {
	f.Helper()
	c := f.claim(name).DeepCopy()
	change(c)
	_, err := f.kube.ResourceV1().ResourceClaims("ns").UpdateStatus(f.Context(), c, metav1.UpdateOptions{})
	f.try(err)
}

func (f *fixture) deallocateClaim(name string) {
	f.Helper()
	f.changed("claim "+name, func() error {
		f.updateClaim(name, func(c *resourceapi.ResourceClaim) { c.Status = resourceapi.ResourceClaimStatus{} })
		return nil
	})
}

// TestThatANodeLacksDevicesIsRemembered while nothing changes that matters. The pod needs four devices of node n1, of which another
// claim has one.
func TestThatANodeLacksDevicesIsRemembered(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fixture)
		// searched says that the next session searches again, and suitable that it finds devices.
		searched, suitable bool
	}{
		{name: "nothing changes", change: func(*fixture) {}},
		{name: "a device becomes free", searched: true, suitable: true, change: func(f *fixture) { f.deallocateClaim("other") }},
		{name: "the claim with the device is deleted", searched: true, suitable: true, change: func(f *fixture) {
			f.changed("claim other", func() error {
				return f.kube.ResourceV1().ResourceClaims("ns").Delete(f.Context(), "other", metav1.DeleteOptions{})
			})
		}},
		{name: "a device of another node becomes free", change: func(f *fixture) { f.deallocateClaim("elsewhere") }},
		{name: "another pod uses the claim with the device", change: func(f *fixture) {
			f.updateClaim("other", func(c *resourceapi.ResourceClaim) { usedBy(c, "b") })
			f.eventually("the claim has two users", func() bool {
				now, err := f.cache.Claim("ns", "other")
				return err == nil && len(now.Status.ReservedFor) == 2
			})
		}},
		{name: "a device is taken", searched: true, change: func(f *fixture) { f.place(f.pod("x", "q", "x"), "n1") }},
		{name: "a device is taken and given up", searched: true, change: func(f *fixture) {
			pod := f.pod("x", "q", "x")
			f.place(pod, "n1")
			f.session.Unreserve(pod)
		}},
		{name: "the slice has one more device", searched: true, suitable: true, change: func(f *fixture) {
			f.updateSlice("n1", func(slice *resourceapi.ResourceSlice) {
				more := slice.Spec.Devices[0]
				more.Name = "more"
				slice.Spec.Devices = append(slice.Spec.Devices, more)
			})
		}},
		{name: "another node publishes a device", searched: true, change: func(f *fixture) {
			f.changed("the slice of node n3", func() error {
				_, err := f.kube.ResourceV1().ResourceSlices().Create(f.Context(), slice("n3", "h100"), metav1.CreateOptions{})
				return err
			})
		}},
		{name: "the class selects more devices", searched: true, suitable: true, change: func(f *fixture) {
			f.changed("the class", func() error {
				all := class("h100")
				all.Spec.Selectors, all.ResourceVersion = nil, "2"
				_, err := f.kube.ResourceV1().DeviceClasses().Update(f.Context(), all, metav1.UpdateOptions{})
				return err
			})
		}},
		{name: "the node gets a label", searched: true, change: func(f *fixture) {
			f.updateNode("n1", func(node *corev1.Node) { node.Labels, node.ResourceVersion = map[string]string{"zone": "a"}, "2" })
		}},
		{name: "the status of the node changes", change: func(f *fixture) {
			f.updateNode("n1", func(node *corev1.Node) { node.Status.Phase, node.ResourceVersion = corev1.NodeRunning, "2" })
		}},
		{name: "the claim of the pod is another one", searched: true, suitable: true, change: func(f *fixture) {
			claims := f.kube.ResourceV1().ResourceClaims("ns")
			f.try(claims.Delete(f.Context(), "p-c", metav1.DeleteOptions{}))
			smaller := large("p-c", 3, "h100")
			smaller.UID, smaller.ResourceVersion = "another", "9"
			_, err := claims.Create(f.Context(), smaller, metav1.CreateOptions{})
			f.try(err)
			f.eventually("the new claim", func() bool {
				now, err := f.cache.Claim("ns", "p-c")
				return err == nil && now.UID == "another"
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, cluster{devices: map[string]string{"n1": "h100 h100 h100 h100 a100", "n2": "h100"}, claims: []*resourceapi.ResourceClaim{
				large("p-c", 4, "h100"), claim("x", exactly("h100", 1)),
				usedBy(on("n1", claim("other", exactly("h100", 1)), "h100-0"), "a"), usedBy(on("n2", claim("elsewhere", exactly("h100", 1)), "h100-0"), "a"),
			}})
			first := f.preFilter(f.pod("p", "q", "p-c"))
			was, searched := f.filter(first, "n1")
			if was == nil || !was.Unresolvable || !searched {
				t.Fatalf("at first: %+v, searched: %t", was, searched)
			}
			c.change(f)
			now, refusal, searched := f.again("p", "n1", "p-c")
			if searched != c.searched || (refusal == nil) != c.suitable {
				t.Errorf("%+v, want suitable: %t; searched: %t, want %t", refusal, c.suitable, searched, c.searched)
			}
			if !c.suitable && (*refusal != *was || !now.Insufficient() || !now.inVain) {
				t.Errorf("the refusal is %+v, want %+v", *refusal, *was)
			}
		})
	}
}

// TestThatTheQuotaRefusesDevicesIsRemembered while the queue stands as it did.
func TestThatTheQuotaRefusesDevicesIsRemembered(t *testing.T) {
	for _, c := range []struct {
		name               string
		quota              string
		used               string
		searched, suitable bool
	}{
		{name: "nothing changes", quota: "h100/memory=2400Gi", used: "h100/memory=560Gi"},
		{name: "another dimension changes", quota: "h100/memory=2400Gi a100=1", used: "h100/memory=560Gi", searched: true},
		{name: "pods of the queue are gone", quota: "h100/memory=2400Gi", searched: true, suitable: true},
		{name: "pods of the queue have come", quota: "h100/memory=2400Gi", used: "h100/memory=600Gi", searched: true},
		{name: "the capability is higher", quota: "h100/memory=3000Gi", used: "h100/memory=560Gi", searched: true, suitable: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ask := claim("c")
			for i := range 24 {
				request := exactly("h100", 1)
				request.Name = fmt.Sprint("r", i)
				ask.Spec.Devices.Requests = append(ask.Spec.Devices.Requests, request)
			}
			f := newFixture(t, cluster{
				devices: map[string]string{"n1": strings.Repeat("h100 ", 24)}, quotas: map[string]string{"q": "h100/memory=2400Gi"}, claims: []*resourceapi.ResourceClaim{ask},
			})
			filter := func(used string) (*State, *report.NodeRefusal, bool) {
				f.open()
				q, _ := f.books.Queue("q")
				f.try(f.books.Charge(q, "others", ledger.Demand{ledger.NewPart(f.amounts(used))}))
				state := f.preFilter(f.pod("p", "q", "c"))
				refusal, searched := f.filter(state, "n1")
				return state, refusal, searched
			}
			before, refusal, searched := filter("h100/memory=560Gi")
			if refusal == nil || !searched || before.Refusal() == nil {
				t.Fatalf("at first: %+v, searched: %t", refusal, searched)
			}
			f.specs[1].Capability = f.amounts(c.quota)
			now, refusal, searched := filter(c.used)
			if searched != c.searched || (refusal == nil) != c.suitable {
				t.Errorf("%+v, want suitable: %t; searched: %t, want %t", refusal, c.suitable, searched, c.searched)
			}
			if !c.searched && messageOf(now.Refusal()) != messageOf(before.Refusal()) {
				t.Errorf("the quota says %q, want %q", messageOf(now.Refusal()), messageOf(before.Refusal()))
			}
		})
	}
}

// TestThatEvictionsHelpIsRemembered until it is not known any more which queue the claim is charged to.
func TestThatEvictionsHelpIsRemembered(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": "h100 h100 h100 h100"}, claims: []*resourceapi.ResourceClaim{
		large("c", 4, "h100"), on("n1", claim("other", exactly("h100", 1)), "h100-0"),
	}})
	for i, step := range []struct{ attributed, searched, inVain bool }{
		{attributed: true, searched: true}, {attributed: true}, {searched: true, inVain: true}, {inVain: true}, {attributed: true, searched: true}, {attributed: true},
	} {
		f.open()
		if step.attributed {
			q, _ := f.books.Queue("q")
			f.try(f.books.Charge(q, "other", ledger.Demand{f.counter.Claims.Of(f.claim("other")).Part}))
		}
		refusal, searched := f.filter(f.preFilter(f.pod("p", "q", "c")), "n1")
		if refusal == nil || refusal.Unresolvable != step.inVain || searched != step.searched {
			t.Errorf("session %d: %+v, searched: %t, want %+v", i, refusal, searched, step)
		}
	}
}

// TestAnUnfinishedSearchGoesOnInTheNextSession where it ended, because what was found out takes no effort any more.
func TestAnUnfinishedSearchGoesOnInTheNextSession(t *testing.T) {
	has := cluster{devices: map[string]string{"n1": "", "n2": ""}}
	var names []string
	for i := range 4 {
		names = append(names, fmt.Sprint("c", i))
		has.claims = append(has.claims, large(names[i], 31, "h100"))
	}
	f := newFixture(t, has)
	var ended int
	for session := range 8 {
		f.open()
		state := f.preFilter(f.pod("p", "q", names...))
		var searched [2]bool
		ended = 0
		for i, node := range []string{"n1", "n2"} {
			var refusal *report.NodeRefusal
			if refusal, searched[i] = f.filter(state, node); refusal == nil {
				t.Fatalf("node %s is suitable", node)
			} else if refusal.Unresolvable {
				ended++
			}
		}
		switch {
		case session == 0 && ended > 0:
			t.Error("one session is enough, so that this test shows nothing")
		case ended < 2:
		case searched != [2]bool{}:
			continue
		default:
			return
		}
	}
	t.Errorf("%d searches have ended in 8 sessions, want 2, and no further search", ended)
}

// TestManyUnfinishedSearchesComeToAnEnd: each node gets the effort of the pod once.
func TestManyUnfinishedSearchesComeToAnEnd(t *testing.T) {
	const nodes = 8
	has := cluster{devices: map[string]string{}, quotas: map[string]string{"q": "h100=3 a100=3"}, claims: []*resourceapi.ResourceClaim{large("c", 8, "h100", "a100")}}
	for n := range nodes {
		has.devices[fmt.Sprint("n", n)] = strings.Repeat("h100 a100 ", 8)
	}
	f := newFixture(t, has)
	var searched int
	for range 2 * nodes {
		f.open()
		state := f.preFilter(f.pod("p", "q", "c"))
		searched = 0
		for n := range nodes {
			refusal, again := f.filter(state, fmt.Sprint("n", n))
			if refusal == nil {
				t.Fatal("a node is suitable")
			}
			if again {
				searched++
			}
		}
	}
	if searched > 0 {
		t.Errorf("%d nodes are searched in the last session", searched)
	}
}

// TestSeveralGoroutinesRemember: Volcano filters several nodes at the same time.
func TestSeveralGoroutinesRemember(t *testing.T) {
	const nodes = 16
	has := cluster{devices: map[string]string{}, claims: []*resourceapi.ResourceClaim{large("c", 4, "h100")}}
	for n := range nodes {
		has.devices[fmt.Sprint("n", n)] = "h100 h100"
	}
	f := newFixture(t, has)
	for range 3 {
		f.open()
		state := f.preFilter(f.pod("p", "q", "c"))
		var filtering sync.WaitGroup
		for n := range nodes {
			node := f.node(fmt.Sprint("n", n))
			filtering.Go(func() {
				if f.session.Filter(state, node) == nil {
					t.Errorf("node %s is suitable", node.Name)
				}
			})
		}
		filtering.Wait()
	}
	if known := f.cache.memory.pods["p"]; known == nil || len(known.nodes) != 2*nodes {
		t.Errorf("remembered: %+v", known)
	}
}

// TestAnUnfinishedSearchIsRememberedWithItsReason: the same search with the same effort would end at the same point.
func TestAnUnfinishedSearchIsRememberedWithItsReason(t *testing.T) {
	f := newFixture(t, cluster{
		devices: map[string]string{"n1": strings.Repeat("h100 a100 ", 31)}, quotas: map[string]string{"q": "h100=15 a100=15"},
		claims: []*resourceapi.ResourceClaim{large("c", 31, "h100", "a100")},
	})
	before, was, _ := f.again("p", "n1", "c")
	now, refusal, searched := f.again("p", "n1", "c")
	if searched || was == nil || refusal == nil || *refusal != *was || messageOf(now.Refusal()) != messageOf(before.Refusal()) {
		t.Errorf("searched: %t; %+v, want %+v; the pod is told %q, want %q", searched, refusal, was, messageOf(now.Refusal()), messageOf(before.Refusal()))
	}
	if _, late := now.Refusal().(report.SearchUnfinished); !late {
		t.Errorf("the search ended: %q", messageOf(now.Refusal()))
	}
}

// TestWhatTheTimeEndedIsNotRemembered: it depends on the machine.
func TestWhatTheTimeEndedIsNotRemembered(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": ""}, claims: []*resourceapi.ResourceClaim{large("c", 4, "h100")}})
	state, node := f.preFilter(f.pod("p", "q", "c")), f.node("n1")
	effort := state.effort.Node()
	if picked, _, err := f.session.search(state, node, effort); picked != nil || err != nil {
		t.Fatal(picked, err)
	}
	f.session.remember(state, node, question{node: "n1"}, effort, answer{err: &dra.UnfinishedError{Timeout: true}, available: 1})
	if _, _, searched := f.again("p", "n1", "c"); !searched {
		t.Error("it is remembered")
	}
}

// TestWhatIsPromisedIsNotRememberedAsTaken: in the next session, nobody may be promised the device.
func TestWhatIsPromisedIsNotRememberedAsTaken(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": "h100 h100 h100 h100"}, claims: []*resourceapi.ResourceClaim{
		large("c", 4, "h100"), claim("x", exactly("h100", 1)),
	}})
	f.try(f.session.Promise(f.preFilter(f.pod("x", "q", "x")), f.node("n1"), nil))
	if refusal, _ := f.filter(f.preFilter(f.pod("p", "q", "c")), "n1"); refusal == nil {
		t.Fatal("the device that is promised is free")
	}
	if _, refusal, _ := f.again("p", "n1", "c"); refusal != nil {
		t.Errorf("in the next session: %+v", refusal)
	}
}

// TestOnlyWhatTookLongIsRemembered, and only while its pod waits.
func TestOnlyWhatTookLongIsRemembered(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": ""}, claims: []*resourceapi.ResourceClaim{large("c", 4, "h100"), claim("d", exactly("h100", 8))}})
	f.filter(f.preFilter(f.pod("short", "q", "d")), "n1")
	long := f.pod("long", "q", "c")
	f.filter(f.preFilter(long), "n1")
	f.open()
	if pods := f.cache.memory.pods; len(pods) != 1 || pods["long"] == nil || len(pods["long"].nodes) != 2 {
		t.Errorf("remembered: %v", pods)
	}
	f.try(f.pods.Delete(long.Object))
	f.open()
	if pods := f.cache.memory.pods; len(pods) != 0 {
		t.Errorf("remembered after the pod is gone: %v", pods)
	}
}

// TestTheMemoryIsBounded even if the nodes change all the time.
func TestTheMemoryIsBounded(t *testing.T) {
	f := newFixture(t, cluster{claims: []*resourceapi.ResourceClaim{large("c", 4, "h100")}})
	pod := f.pod("p", "q", "c")
	known := f.cache.memory.begin(pod.Object, []*resourceapi.ResourceClaim{pod.Claims[0].Object})
	for i := range maxAnswers + 1 {
		known.keep(question{node: fmt.Sprint("n", i)}, &answer{}, nil)
	}
	f.open()
	if n := len(f.cache.memory.pods); n != 0 {
		t.Errorf("%d pods are remembered", n)
	}
}
