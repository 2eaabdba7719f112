// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// large has the given number of requests, with eight alternatives each. Each may get a device of any class. The first request needs
// several devices: if there are fewer, the search ends soon.
func large(name string, requests int, first int64, classes ...string) *resourceapi.ResourceClaim {
	c := claim(name)
	for r := range requests {
		request, count := resourceapi.DeviceRequest{Name: fmt.Sprint("r", r)}, int64(1)
		if r == 0 {
			count = first
		}
		for a := range 8 {
			request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{
				Name: fmt.Sprint("a", a), DeviceClassName: classes[a%len(classes)], AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
			})
		}
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, request)
	}
	// There are none, but devices are not counted before the search.
	c.Spec.Devices.Requests[0].FirstAvailable[7] = resourceapi.DeviceSubRequest{Name: "a7", DeviceClassName: "bare", AllocationMode: resourceapi.DeviceAllocationModeAll}
	return c
}

// filter filters a node for a pod, and reports whether it searched for devices.
func (f *fixture) filter(state *State, node string) (refusal *report.NodeRefusal, searched bool) {
	f.Helper()
	before, _ := f.session.budget.Used()
	refusal = f.session.Filter(state, f.node(node))
	after, _ := f.session.budget.Used()
	return refusal, after > before
}

// again filters a node in the next session.
func (f *fixture) again(pod, node string, claims ...string) (state *State, refusal *report.NodeRefusal, searched bool) {
	f.Helper()
	f.open()
	state = f.preFilter(f.pod(pod, "q", claims...))
	refusal, searched = f.filter(state, node)
	return state, refusal, searched
}

// changed waits until a change of devices or of published objects is read.
func (f *fixture) changed(what string, change func() error) {
	f.Helper()
	version, catalog := f.cache.DevicesVersion(), f.cache.Catalog()
	f.try(change())
	f.eventually(what, func() bool { return f.cache.DevicesVersion() != version || f.cache.Catalog() != catalog })
}

func (f *fixture) updateSlice(node string, change func(*resourceapi.ResourceSlice)) {
	f.Helper()
	f.changed("the slice of node "+node, func() error {
		changed := slice(node, "h100 h100 h100 h100 h100 h100")
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

// TestThatANodeLacksDevicesIsRemembered as long as nothing relevant changes. The pod needs the six devices of node n1, but another
// claim has three of them.
func TestThatANodeLacksDevicesIsRemembered(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fixture)
		// searched says that the next session searches again. suitable says that it finds devices.
		searched, suitable bool
	}{
		{name: "nothing changes", change: func(*fixture) {}},
		{name: "devices become free", searched: true, suitable: true, change: func(f *fixture) { f.deallocateClaim("other") }},
		{name: "the claim with the devices is deleted", searched: true, suitable: true, change: func(f *fixture) {
			f.changed("claim other", func() error {
				return f.kube.ResourceV1().ResourceClaims("ns").Delete(f.Context(), "other", metav1.DeleteOptions{})
			})
		}},
		{name: "a device of another node becomes free that no queue is charged for", searched: true, change: func(f *fixture) { f.deallocateClaim("elsewhere") }},
		{name: "another pod uses the claim with the devices", change: func(f *fixture) {
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
		{name: "the slice has more devices", searched: true, suitable: true, change: func(f *fixture) {
			f.updateSlice("n1", func(slice *resourceapi.ResourceSlice) {
				for i := range 3 {
					more := slice.Spec.Devices[0]
					more.Name = fmt.Sprint("more-", i)
					slice.Spec.Devices = append(slice.Spec.Devices, more)
				}
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
			smaller := large("p-c", 3, 1, "h100")
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
			f := newFixture(t, cluster{devices: map[string]string{"n1": "h100 h100 h100 h100 h100 h100 a100 a100 a100", "n2": "h100"}, claims: []*resourceapi.ResourceClaim{
				large("p-c", 3, 4, "h100"), claim("x", exactly("h100", 1)),
				usedBy(on("n1", claim("other", exactly("h100", 3)), "h100-0", "h100-1", "h100-2"), "a"),
				usedBy(on("n2", claim("elsewhere", exactly("h100", 1)), "h100-0"), "a"),
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
			if !c.suitable && (*refusal != *was || !now.Insufficient()) {
				t.Errorf("the refusal is %+v, want %+v", *refusal, *was)
			}
		})
	}
}

// TestThatEvictionsHelpIsRemembered until the queue that the claim is charged to is unknown.
func TestThatEvictionsHelpIsRemembered(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": "h100 h100 h100 h100 h100 h100"}, claims: []*resourceapi.ResourceClaim{
		large("c", 3, 4, "h100"), on("n1", claim("other", exactly("h100", 3)), "h100-0", "h100-1", "h100-2"),
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

// TestOnlyWhatTookLongIsRemembered, and only while its pod waits.
func TestOnlyWhatTookLongIsRemembered(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": ""}, claims: []*resourceapi.ResourceClaim{large("c", 3, 4, "h100"), claim("d", exactly("h100", 8))}})
	f.filter(f.preFilter(f.pod("short", "q", "d")), "n1")
	long := f.pod("long", "q", "c")
	f.filter(f.preFilter(long), "n1")
	f.open()
	if known := f.remembered("long"); len(f.cache.memory.known) != 1 || known == nil || len(known.nodes) != 2 {
		t.Errorf("remembered: %v", f.cache.memory.known)
	}
	f.try(f.pods.Delete(long.Object))
	f.open()
	if known := f.cache.memory.known; len(known) != 0 {
		t.Errorf("remembered after the pod is gone: %v", known)
	}
}

// TestThatManyClaimsLackDevicesIsRemembered although no combination was tried: a look at all of them takes long enough.
func TestThatManyClaimsLackDevicesIsRemembered(t *testing.T) {
	for _, devices := range []string{"", "h100 h100 h100 h100"} {
		has, names := cluster{devices: map[string]string{"n1": devices}}, []string(nil)
		for i := range memorable {
			names = append(names, fmt.Sprint("c", i))
			has.claims = append(has.claims, claim(names[i], exactly("h100", 1)))
		}
		f := newFixture(t, has)
		for session, want := range []bool{true, false} {
			if _, refusal, searched := f.again("p", "n1", names...); refusal == nil || searched != want {
				t.Errorf("devices %q, session %d: refusal %v, searched %t", devices, session, refusal, searched)
			}
		}
	}
}

// remembered returns what the memory has for a pod, nil if it has nothing.
func (f *fixture) remembered(pod types.UID) *answers {
	for _, known := range f.cache.memory.known {
		if known.pods[pod] != nil {
			return known
		}
	}
	return nil
}

// TestTheMemoryIsBounded even if the nodes change all the time. What the last session asked for stays.
func TestTheMemoryIsBounded(t *testing.T) {
	f := newFixture(t, cluster{devices: map[string]string{"n1": ""}, claims: []*resourceapi.ResourceClaim{large("c", 3, 4, "h100")}})
	p := f.pod("p", "q", "c")
	for _, c := range []struct{ places, want int }{{0, 0}, {1, 1}, {2, 2}} {
		f.cache.memory.kept.Store(int64(maxAnswers - c.places))
		if f.filter(f.preFilter(p), "n1"); len(f.remembered("p").nodes) != c.want {
			t.Errorf("there are %d places, and %d answers are remembered", c.places, len(f.remembered("p").nodes))
		}
		clear(f.remembered("p").nodes)
	}
	f.open()
	f.filter(f.preFilter(p), "n1")
	known := f.remembered("p")
	for i := range maxAnswers {
		known.keep(question{node: fmt.Sprint("gone", i)}, &answer{}, f.cache.memory.full, nil)
	}
	if len(known.nodes) != maxAnswers || !f.cache.memory.full() {
		t.Fatalf("%d answers are remembered", len(known.nodes))
	}
	f.open()
	if f.remembered("p") != known || len(known.nodes) != 2 || f.cache.memory.full() {
		t.Errorf("%d answers are remembered, want only those that the last session asked for", len(known.nodes))
	}
}
