// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// overlapping has devices big (80Gi) and small (10Gi) of one driver. Class gpu contains both. Classes large, model and board
// contain big. Classes model and board name the card H100.
func overlapping(devices ...string) *dra.Catalog {
	class := func(name, cardName, expression string) *resourceapi.DeviceClass {
		c := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if cardName != "" {
			c.Annotations = map[string]string{card.NameAnnotation: cardName}
		}
		c.Spec.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}}
		return c
	}
	isBig := `device.driver == "driver" && device.attributes["driver"].size == "big"`
	spec := resourceapi.ResourceSliceSpec{Driver: "driver", NodeName: ptr.To("node"), Pool: resourceapi.ResourcePool{Name: "pool", ResourceSliceCount: 1}}
	for _, size := range devices {
		memory := map[string]string{"big": "80Gi", "small": "10Gi"}[size]
		spec.Devices = append(spec.Devices, resourceapi.Device{
			Name:       size,
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"size": {StringValue: ptr.To(size)}},
			Capacity:   map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse(memory)}},
		})
	}
	return dra.NewCatalog([]*resourceapi.DeviceClass{
		class("gpu", "", `device.driver == "driver"`), class("large", "", isBig), class("model", "H100", isBig), class("board", "H100", isBig),
	}, []*resourceapi.ResourceSlice{{Spec: spec}})
}

// matchingClaims counts by matching, in its first round. A queue limits the memory of large.
func matchingClaims(limited []string, cards bool) (*ledger.Dimensions, *Claims) {
	dimensions := &ledger.Dimensions{}
	dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCapacity, Name: "large", Capacity: "memory"})
	cs := NewClaims(dimensions)
	cs.Match(Matching{Matcher: dra.NewMatcher(cel.NewCache(10, cel.Features{})), Limited: limited, Cards: cards})
	cs.Begin(overlapping("big", "small"))
	return dimensions, cs
}

func TestADeviceCountsForEachLimitedClassThatItMatches(t *testing.T) {
	shared := on(claim("c", exactly("gpu", 1)), "big")
	shared.Status.Allocation.Devices.Results[0].ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("20Gi")}
	free := on(claim("c", exactly("gpu", 1)), "big")
	free.Status.Allocation.Devices.Results[0].AdminAccess = ptr.To(true)
	for _, c := range []struct {
		name    string
		limited []string
		cards   bool
		claim   *resourceapi.ResourceClaim
		want    string
	}{
		{"no class is limited", nil, false, on(claim("c", exactly("gpu", 2)), "big", "small"), "c gpu:2"},
		{"a specific class is limited", []string{"large"}, false, on(claim("c", exactly("gpu", 2)), "big", "small"), "c gpu:2 large/memory:80GiB large:1"},
		{"the generic class is limited", []string{"gpu"}, false, on(claim("c", exactly("model", 1)), "big"), "c H100:1 gpu:1 model:1"},
		{"the class that was asked for counts once", []string{"gpu", "large"}, false, on(claim("c", exactly("large", 1)), "big"), "c gpu:1 large/memory:80GiB large:1"},
		{"a shared device counts with what is consumed", []string{"large"}, false, shared, "c gpu:1 large/memory:20GiB large:1"},
		{"administrative access is free", []string{"large"}, false, free, "c "},
		{"cards that nobody limits do not count", []string{"large"}, false, on(claim("c", exactly("gpu", 1)), "big"), "c gpu:1 large/memory:80GiB large:1"},
		{"a card counts once, however many classes name it", nil, true, on(claim("c", exactly("gpu", 2)), "big", "small"), "c H100:1 gpu:2"},
		{"a card counts once, also if the class that was asked for names it", nil, true, on(claim("c", exactly("model", 1)), "big"), "c H100:1 model:1"},
		{"before devices are known, only what is certain counts", []string{"large"}, false, claim("c", exactly("gpu", 2)), "c gpu:2 (open)"},
		{"the only class that counts is the one that is asked for", []string{"model"}, false, claim("c", exactly("model", 2)), "c H100:2 model:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dimensions, cs := matchingClaims(c.limited, c.cards)
			if got := describe(dimensions, cs.Of(c.claim)); got != c.want {
				t.Errorf("it comes to %s, want %s", got, c.want)
			}
		})
	}
}

func TestWhatIsPickedCountsForEachLimitedClassThatItMatches(t *testing.T) {
	dimensions, cs := matchingClaims([]string{"large"}, true)
	asked := cs.Of(claim("c", exactly("gpu", 1)))
	for device, want := range map[string]string{"big": "H100:1 gpu:1 large/memory:80GiB large:1", "small": "gpu:1"} {
		amounts, lacking, err := cs.Picked(asked, on(asked.Object, device).Status.Allocation)
		if got := text(dimensions, amounts); err != nil || len(lacking) > 0 || got != want {
			t.Errorf("device %s comes to %s (%v, lacks %v), want %s", device, got, err, lacking, want)
		}
	}
}

func TestADeviceGoesOnCountingForItsClassesWhenItIsNotPublished(t *testing.T) {
	dimensions, cs := matchingClaims([]string{"large"}, false)
	held := on(claim("held", exactly("gpu", 1)), "big")
	before := describe(dimensions, cs.Of(held))
	cs.Begin(overlapping())
	if after := describe(dimensions, cs.Of(held)); after != before {
		t.Errorf("without its driver it comes to %s, was %s", after, before)
	}
	cs.Match(Matching{Matcher: cs.next.Matcher, Limited: []string{"large"}, Cards: true})
	cs.Begin(overlapping())
	if got, want := describe(dimensions, cs.Of(held)), "held H100:1 gpu:1 large/memory:80GiB large:1"; got != want {
		t.Errorf("with another limit it comes to %s, want %s", got, want)
	}
	// A scheduler that never saw the device knows only the requested class.
	_, fresh := matchingClaims([]string{"large"}, false)
	fresh.Begin(overlapping())
	if got, want := describe(fresh.dimensions, fresh.Of(held)), "held gpu:1"; got != want {
		t.Errorf("a device that was never seen comes to %s, want %s", got, want)
	}
}

func TestChangesOfLimitsAndDevicesAreCounted(t *testing.T) {
	dimensions, cs := matchingClaims(nil, false)
	held := on(claim("held", exactly("gpu", 1)), "big")
	expect := func(want string) {
		t.Helper()
		if got := describe(dimensions, cs.Of(held)); got != want {
			t.Errorf("it comes to %s, want %s", got, want)
		}
	}
	expect("held gpu:1")
	by := cs.next
	by.Limited = []string{"large"}
	cs.Match(by)
	cs.Begin(cs.catalog)
	expect("held gpu:1 large/memory:80GiB large:1")
	cs.Begin(overlapping("small", "big"))
	expect("held gpu:1 large/memory:80GiB large:1")
	cs.Match(Matching{})
	cs.Begin(cs.catalog)
	expect("held gpu:1")
}

func TestAClaimIsNotCountedAnewWhenOtherDevicesChange(t *testing.T) {
	_, cs := matchingClaims([]string{"large"}, false)
	c := cs.Of(on(claim("held", exactly("gpu", 1)), "big"))
	cs.Begin(cs.catalog)
	if cs.republished(c) {
		t.Error("nothing has changed, but the claim is counted anew")
	}
	cs.Begin(overlapping("big"))
	if !cs.republished(c) {
		t.Error("the device was published anew, but the claim is not counted anew")
	}
}
