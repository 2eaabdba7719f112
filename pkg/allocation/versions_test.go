// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dra"
)

// TestTheVersionGrowsWithTheDevicesInUse checks the versions of the nodes that may reach the devices.
func TestTheVersionGrowsWithTheDevicesInUse(t *testing.T) {
	f := newFixture(t, claim("c"))
	in := func(node, pool string) *resourceapi.ResourceSlice {
		slice := &resourceapi.ResourceSlice{Spec: resourceapi.ResourceSliceSpec{Driver: "driver", Pool: resourceapi.ResourcePool{Name: pool}}}
		if slice.Spec.NodeName = ptr.To(node); node == "" {
			slice.Spec.NodeName, slice.Spec.AllNodes = nil, ptr.To(true)
		}
		return slice
	}
	local := dra.NewCatalog(nil, []*resourceapi.ResourceSlice{in("n1", "pool"), in("n2", "another")})
	network := dra.NewCatalog(nil, []*resourceapi.ResourceSlice{in("", "pool"), in("n2", "another")})
	wanted := given(claim("c"), "gpu")
	for _, step := range []struct {
		name  string
		do    func()
		grows bool
	}{
		{name: "nothing", do: func() {}},
		{name: "a device is taken", grows: true, do: func() { f.pending.Add(wanted, "a") }},
		{name: "another pod needs it", do: func() { f.pending.Add(wanted, "b") }},
		{name: "a pod gives it up, the other does not", do: func() { f.pending.Drop("c-uid", "a") }},
		{name: "both have given it up", grows: true, do: func() { f.pending.Drop("c-uid", "b") }},
		{name: "it is taken again", grows: true, do: func() { f.pending.Add(wanted, "a") }},
		{name: "it is written", grows: true, do: func() { f.reserve(pod("a"), wanted) }},
		{name: "the claim is deleted", grows: true, do: func() {
			before := f.reader.DevicesVersion()
			f.deleteClaim("c")
			f.eventually("the deletion is read", func() bool { return f.reader.DevicesVersion() > before })
		}},
	} {
		n1, n2 := f.reader.DevicesVersionOn("n1", local), f.reader.DevicesVersionOn("n2", network)
		step.do()
		if grown := f.reader.DevicesVersionOn("n1", local) > n1; grown != step.grows {
			t.Errorf("%s: the version of node n1 grows: %t, want %t", step.name, grown, step.grows)
		}
		if grown := f.reader.DevicesVersionOn("n2", network) > n2; grown != step.grows {
			t.Errorf("%s: the version of node n2, which reaches the pool over a network, grows: %t, want %t", step.name, grown, step.grows)
		}
		if latest := f.reader.DevicesVersion(); f.reader.DevicesVersionOn("n1", local) > latest || f.reader.DevicesVersionOn("n2", local) != 0 {
			t.Errorf("%s: node n1 is ahead, or node n2 has a version without any device in use", step.name)
		}
	}
}

// TestPoolsThatAreGoneHaveNoVersion checks that the number of versions is bounded.
func TestPoolsThatAreGoneHaveNoVersion(t *testing.T) {
	v := newVersions()
	v.changed(given(claim("c"), "gpu").Status.Allocation)
	v.keep(dra.NewCatalog(nil, nil))
	if len(v.pools) > 0 {
		t.Errorf("versions: %v", v.pools)
	}
}
