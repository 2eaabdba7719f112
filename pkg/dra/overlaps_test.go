// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

func TestClassesThatShareADeviceOverlap(t *testing.T) {
	gpu := `device.driver == "gpu"`
	catalog := NewCatalog([]*resourceapi.DeviceClass{
		class("gpu", gpu), class("h100", gpu, ofModel("h100")), class("a100", gpu, ofModel("a100")),
		class("empty", ofModel("none")), class("broken", "device."),
	}, []*resourceapi.ResourceSlice{modelled("h100", "a100")})
	find := func(ctx context.Context, most int, names ...string) Overlaps {
		return FindOverlaps(ctx, catalog, names, cel.NewCache(10, cel.Features{}), most)
	}
	want := Overlaps{"h100": {"gpu"}, "gpu": {"a100", "h100"}}
	if diff := cmp.Diff(want, find(t.Context(), 1000, "broken", "empty", "gpu", "h100", "lost")); diff != "" {
		t.Errorf("overlaps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Overlaps{"a100": {"gpu"}}, find(t.Context(), 1000, "a100")); diff != "" {
		t.Errorf("overlaps of one class (-want +got):\n%s", diff)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if got := find(ended, 1000, "gpu"); len(got) > 0 {
		t.Errorf("after the end there are %v", got)
	}
}

func TestTheSearchForOverlapsIsBounded(t *testing.T) {
	var models []string
	for i := range 100 {
		models = append(models, fmt.Sprint("model-", i))
	}
	catalog := NewCatalog([]*resourceapi.DeviceClass{class("first", ofModel("none")), class("second")}, []*resourceapi.ResourceSlice{modelled(models...)})
	evaluated := func(most int) int {
		search := overlapSearch{pairs: map[string]map[string]bool{}, left: most}
		search.over(t.Context(), catalog, []string{"first"}, cel.NewCache(10, cel.Features{}))
		return most - search.left
	}
	if all, some := evaluated(1000), evaluated(50); all != 100 || some != 50 {
		t.Errorf("%d and %d evaluations are made, want 100 and 50", all, some)
	}
}
