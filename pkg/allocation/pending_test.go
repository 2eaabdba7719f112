// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestPending(t *testing.T) {
	f := newFixture(t, claim("c"))
	first, second := given(claim("c"), "gpu-0"), given(claim("c"), "gpu-1")
	for _, pod := range []types.UID{"a", "b"} {
		f.pending.Add(first, pod)
	}
	f.pending.Add(second, "c")
	if f.pending.Of("c-uid") != first {
		t.Error("a later allocation replaces the first one")
	}
	if !f.taken("gpu-0") || f.taken("gpu-1") {
		t.Error("the pending device is free, or the other one is not")
	}
	for _, pod := range []types.UID{"a", "a", "c"} {
		if f.pending.Drop("c-uid", pod) != nil {
			t.Error("the allocation is dropped although another pod needs it")
		}
	}
	if got := f.pending.Drop("c-uid", "b"); got != first.Status.Allocation || f.taken("gpu-0") || f.pending.Of("c-uid") != nil {
		t.Error("the device is not free although the last pod was dropped")
	}
}
