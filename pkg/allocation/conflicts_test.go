// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dra"
)

// sharing returns a copy of a claim with a share of a device.
func sharing(c *resourceapi.ResourceClaim, device, memory string) *resourceapi.ResourceClaim {
	c = given(c, device)
	result := &c.Status.Allocation.Devices.Results[0]
	result.ShareID = ptr.To(types.UID(c.Name))
	result.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse(memory)}
	return c
}

// watching returns a copy of a claim with administrative access to a device.
func watching(c *resourceapi.ResourceClaim, device string) *resourceapi.ResourceClaim {
	c = given(c, device)
	c.Status.Allocation.Devices.Results[0].AdminAccess = ptr.To(true)
	return c
}

// published has gpu-0 and gpu-1, each with 80Gi of memory.
func published(memory string) *dra.Catalog {
	slice := &resourceapi.ResourceSlice{Spec: resourceapi.ResourceSliceSpec{Driver: "driver", Pool: resourceapi.ResourcePool{Name: "pool", ResourceSliceCount: 1}}}
	for _, name := range []string{"gpu-0", "gpu-1"} {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: name, AllowMultipleAllocations: ptr.To(true),
			Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse(memory)}}})
	}
	return dra.NewCatalog(nil, []*resourceapi.ResourceSlice{slice})
}

func TestConflicts(t *testing.T) {
	a, b, c := claim("a"), claim("b"), claim("c")
	empty := a.DeepCopy()
	empty.Status.Allocation = &resourceapi.AllocationResult{}
	for _, test := range []struct {
		name   string
		claims []*resourceapi.ResourceClaim
		want   string
	}{
		{name: "no claim has devices", claims: []*resourceapi.ResourceClaim{a, b, empty}},
		{name: "each claim has its own device", claims: []*resourceapi.ResourceClaim{given(a, "gpu-0"), given(b, "gpu-1")}},
		{
			name: "two claims have a device", claims: []*resourceapi.ResourceClaim{given(a, "gpu-0"), given(b, "gpu-0"), given(c, "gpu-1")},
			want: "device driver/pool/gpu-0 is allocated to ResourceClaims ns/a and ns/b at the same time",
		},
		{name: "two claims share a device", claims: []*resourceapi.ResourceClaim{sharing(a, "gpu-0", "40Gi"), sharing(b, "gpu-0", "40Gi")}},
		{
			name: "two claims share more than a device has", claims: []*resourceapi.ResourceClaim{sharing(a, "gpu-0", "40Gi"), sharing(b, "gpu-0", "41Gi")},
			want: "device driver/pool/gpu-0 is allocated to ResourceClaims ns/a and ns/b at the same time",
		},
		{name: "a device that is not published any more has no known capacity", claims: []*resourceapi.ResourceClaim{sharing(a, "gone", "400Gi"), sharing(b, "gone", "400Gi")}},
		{
			name: "a device that is not published any more is still one device", claims: []*resourceapi.ResourceClaim{given(a, "gone"), given(b, "gone")},
			want: "device driver/pool/gone is allocated to ResourceClaims ns/a and ns/b at the same time",
		},
		{
			name: "one claim has a share, another one the whole device", claims: []*resourceapi.ResourceClaim{sharing(a, "gpu-0", "1Gi"), given(b, "gpu-0")},
			want: "device driver/pool/gpu-0 is allocated to ResourceClaims ns/a and ns/b at the same time",
		},
		{name: "access for administration", claims: []*resourceapi.ResourceClaim{given(a, "gpu-0"), watching(b, "gpu-0"), watching(c, "gpu-0")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, catalog := newHolders(), published("80Gi")
			h.use(catalog)
			text := func() string {
				var all []string
				for _, conflict := range h.all() {
					all = append(all, conflict.String())
				}
				return strings.Join(all, "; ")
			}
			for _, claim := range test.claims {
				h.handler().OnAdd(claim, false)
			}
			if got := text(); got != test.want {
				t.Errorf("conflicts %q, want %q", got, test.want)
			}
			for _, claim := range test.claims {
				h.handler().OnUpdate(claim, claim.DeepCopy())
			}
			if got := text(); got != test.want {
				t.Errorf("after an update, conflicts %q, want %q", got, test.want)
			}
			for _, claim := range test.claims[1:] {
				h.handler().OnDelete(claim)
			}
			h.handler().OnUpdate(test.claims[0], claim(test.claims[0].Name)) // deallocated
			if got := text(); got != "" || len(h.devices)+len(h.claims) > 0 {
				t.Errorf("once nothing is allocated, conflicts %q, devices %v", got, h.devices)
			}
		})
	}
}

func TestADeviceThatIsPublishedWithLessIsInConflict(t *testing.T) {
	h := newHolders()
	for _, c := range []*resourceapi.ResourceClaim{sharing(claim("a"), "gpu-0", "40Gi"), sharing(claim("b"), "gpu-0", "40Gi")} {
		h.handler().OnAdd(c, false)
	}
	for memory, want := range map[string]int{"80Gi": 0, "79Gi": 1} {
		h.use(published(memory))
		if got := len(h.all()); got != want {
			t.Errorf("%d conflicts with %s, want %d", got, memory, want)
		}
	}
}

// TestTheLaterClaimGivesWay checks that the later claim gives way, unless a pod outside of this scheduler's control uses it.
func TestTheLaterClaimGivesWay(t *testing.T) {
	h := newHolders()
	h.use(published("80Gi"))
	claims := map[string]*resourceapi.ResourceClaim{
		"first": given(claim("first"), "gpu-0"), "second": given(claim("second"), "gpu-0"), "third": given(claim("third"), "gpu-0"),
		"half": sharing(claim("half"), "gpu-1", "40Gi"), "more": sharing(claim("more"), "gpu-1", "30Gi"), "excess": sharing(claim("excess"), "gpu-1", "20Gi"),
	}
	for _, name := range []string{"first", "second", "third", "half", "more", "excess"} {
		h.handler().OnAdd(claims[name], false)
	}
	claims["unwritten"] = given(claim("unwritten"), "gpu-0")
	for _, c := range []struct {
		name    string
		settled []string
		give    string
	}{
		{name: "nobody is settled", give: "excess second third unwritten"},
		{name: "the second one is settled", settled: []string{"second"}, give: "excess first third unwritten"},
		{name: "the last share is settled", settled: []string{"excess"}, give: "excess more second third unwritten"},
	} {
		var give []string
		for name, claim := range claims {
			if slices.Contains(c.settled, name) && name != "excess" {
				continue // its pod runs
			}
			if h.of(claim, func(other *resourceapi.ResourceClaim) bool { return slices.Contains(c.settled, other.Name) }) != nil {
				give = append(give, name)
			}
		}
		slices.Sort(give)
		if got := strings.Join(give, " "); got != c.give {
			t.Errorf("%s: %q give way, want %q", c.name, got, c.give)
		}
	}
}

func TestSettled(t *testing.T) {
	waiting := pod("waiting")
	waiting.Spec.SchedulerName = "volcano"
	pods := map[string]func(*corev1.Pod){
		"waits": func(*corev1.Pod) {}, "tried": func(p *corev1.Pod) { p.Spec.NodeName = "n1" },
		"bound": func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
		}, "runs": func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning },
		"theirs": func(p *corev1.Pod) { p.Spec.SchedulerName = "another" }, "replaced": func(p *corev1.Pod) { p.UID = "another" },
	}
	settled := Settled(waiting, func(_, name string) (*corev1.Pod, error) {
		change, found := pods[name]
		if !found {
			return nil, errors.New("not found")
		}
		p := pod(name)
		p.Spec.SchedulerName = "volcano"
		change(p)
		return p, nil
	})
	for consumers, want := range map[string]bool{"": false, "waits": false, "tried": false, "bound": true, "runs": true, "theirs": true, "replaced": true, "gone": true, "waits bound": true} {
		c := claim("c")
		for name := range strings.FieldsSeq(consumers) {
			c.Status.ReservedFor = append(c.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: name, UID: types.UID(name)})
		}
		if got := settled(c); got != want {
			t.Errorf("a claim that is used by %q is settled: %t", consumers, got)
		}
	}
}

// TestReserveGivesUpDevicesOfAnotherClaim covers another scheduler that allocates the devices before or while the claim is written.
func TestReserveGivesUpDevicesOfAnotherClaim(t *testing.T) {
	theirs := usedBy("theirs", "gpu-0", "stranger")
	for _, c := range []struct {
		name string
		// written says that the allocation is already written. during says that the other scheduler is faster during the write.
		written, during bool
	}{
		{name: "before"}, {name: "after it was written", written: true}, {name: "while it is written", during: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ours := claim("ours")
			wanted := given(ours, "gpu-0")
			if c.written {
				ours = wanted
			}
			f := newFixture(t, ours)
			f.createPod(pod("a"))
			intrude := func() { f.reader.holders.handler().OnAdd(theirs, false) }
			if c.during {
				f.kube.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
					intrude()
					return false, nil, nil
				})
			} else {
				intrude()
			}
			if !c.written {
				f.pending.Add(wanted, "a")
			}
			_, err := f.writer.Reserve(context.Background(), pod("a"), []*resourceapi.ResourceClaim{wanted}, "")
			if err == nil || !strings.HasPrefix(err.Error(), "ResourceClaim ns/ours gives up its devices: device driver/pool/gpu-0 is allocated to ResourceClaims") {
				t.Errorf("the error is %v", err)
			}
			if now := f.claim("ours"); now.Status.Allocation != nil || consumers(now) != "" || f.pending.Of("ours-uid") != nil {
				t.Errorf("the claim has %v, is used by %q, and is pending: %t", now.Status.Allocation, consumers(now), f.pending.Of("ours-uid") != nil)
			}
		})
	}
}
