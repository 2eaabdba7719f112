// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const gpu = corev1.ResourceName("nvidia.com/gpu")

// gpuClass returns a class of the devices of driver gpu that offers an extended resource.
func gpuClass(name string, offered corev1.ResourceName) *resourceapi.DeviceClass {
	c := class(name, `device.driver == "gpu"`)
	if offered != "" {
		c.Spec.ExtendedResourceName = ptr.To(string(offered))
	}
	return c
}

// gpusOn returns a slice of one node with a number of devices.
func gpusOn(node string, number int) *resourceapi.ResourceSlice {
	slice := poolSlice(node, 1, 1, number)
	slice.Spec.NodeName = ptr.To(node)
	return slice
}

// poolSlice returns a slice of a pool that no node can reach yet.
func poolSlice(pool string, generation, total int64, number int) *resourceapi.ResourceSlice {
	spec := resourceapi.ResourceSliceSpec{Driver: "gpu", Pool: resourceapi.ResourcePool{Name: pool, Generation: generation, ResourceSliceCount: total}}
	for i := range number {
		spec.Devices = append(spec.Devices, resourceapi.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	return &resourceapi.ResourceSlice{Spec: spec}
}

// inZone selects the nodes of a zone.
func inZone(zone string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
	}}}
}

// node returns a node in zone a with a kubelet version and listed resources.
func node(name, kubelet string, listed corev1.ResourceList) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "a"}},
		Status:     corev1.NodeStatus{Allocatable: listed, Capacity: maps.Clone(listed), NodeInfo: corev1.NodeSystemInfo{KubeletVersion: kubelet}},
	}
}

func listing(name corev1.ResourceName, number string) corev1.ResourceList {
	return corev1.ResourceList{name: resource.MustParse(number)}
}

func offersOf(classes []*resourceapi.DeviceClass, slices []*resourceapi.ResourceSlice, wanted ...string) *Offers {
	return NewOffers(NewCatalog(classes, slices), newMatcher(), wanted)
}

func TestANodeServesByDRAWhatNoDevicePluginServesThere(t *testing.T) {
	offers := offersOf([]*resourceapi.DeviceClass{gpuClass("gpus", gpu)}, []*resourceapi.ResourceSlice{gpusOn("n1", 8)})
	for _, c := range []struct {
		name string
		node *corev1.Node
		want int64
	}{
		{"a node that does not list the resource", node("n1", "v1.34.1", nil), 8},
		{"a node whose device plugin offers some", node("n1", "v1.35.0", listing(gpu, "4")), 0},
		{"a node that lists none, with a kubelet that accepts the pod", node("n1", "v1.35.0", listing(gpu, "0")), 8},
		{"the same with a version of a provider", node("n1", "v1.35.2-gke.1024+d3adb33f", listing(gpu, "0")), 8},
		{"the same before the release", node("n1", "v1.35.0-rc.1", listing(gpu, "0")), 8},
		{"a node that lists none, with a kubelet that rejects the pod", node("n1", "v1.34.9", listing(gpu, "0")), 0},
		{"a node that lists none, with a kubelet of no known version", node("n1", "", listing(gpu, "0")), 0},
		{"a node without devices", node("n2", "v1.35.0", nil), 0},
	} {
		if got := offers.on(c.node, nil)[gpu]; got != c.want {
			t.Errorf("%s is offered %d, want %d", c.name, got, c.want)
		}
	}
}

// TestImplicitNamesAreServedByKubeletsThatKnowThem matters because older kubelets start the containers without devices.
func TestImplicitNamesAreServedByKubeletsThatKnowThem(t *testing.T) {
	const name = "deviceclass.resource.kubernetes.io/gpus"
	offers := offersOf([]*resourceapi.DeviceClass{gpuClass("gpus", gpu)}, []*resourceapi.ResourceSlice{gpusOn("n1", 8)}, "gpus")
	for kubelet, want := range map[string]int64{"v1.34.9": 0, "v1.35.0": 8, "": 8} {
		if got := offers.on(node("n1", kubelet, nil), nil); got[name] != want || got[gpu] != 8 {
			t.Errorf("with kubelet %q, the node is offered %v, want %d of the implicit name", kubelet, got, want)
		}
	}
}

func TestOffersFollowWhereDevicesCanBeReached(t *testing.T) {
	everywhere := poolSlice("all", 1, 1, 1)
	everywhere.Spec.AllNodes = ptr.To(true)
	zone := poolSlice("zone", 1, 1, 2)
	zone.Spec.NodeSelector = inZone("a")
	otherZone := poolSlice("other zone", 1, 1, 100)
	otherZone.Spec.NodeSelector = inZone("b")
	perDevice := poolSlice("per device", 1, 1, 4)
	perDevice.Spec.PerDeviceNodeSelection = ptr.To(true)
	perDevice.Spec.Devices[0].NodeName = ptr.To("n1")
	perDevice.Spec.Devices[1].NodeName = ptr.To("n2")
	perDevice.Spec.Devices[2].NodeSelector = inZone("a")
	perDevice.Spec.Devices[3].AllNodes = ptr.To(true)
	nowhere := poolSlice("nowhere", 1, 1, 1000)
	offers := offersOf([]*resourceapi.DeviceClass{gpuClass("gpus", gpu)},
		[]*resourceapi.ResourceSlice{everywhere, zone, otherZone, perDevice, nowhere, gpusOn("n1", 8)})
	for name, want := range map[string]int64{"n1": 1 + 2 + 3 + 8, "n2": 1 + 2 + 3, "n3": 1 + 2 + 2} {
		if got := offers.on(node(name, "v1.34.1", nil), nil)[gpu]; got != want {
			t.Errorf("%s is offered %d, want %d", name, got, want)
		}
	}
}

func TestOnlyTheLatestGenerationOfACompletePoolIsOffered(t *testing.T) {
	on := func(slice *resourceapi.ResourceSlice) *resourceapi.ResourceSlice {
		slice.Spec.NodeName = ptr.To("n1")
		return slice
	}
	for _, c := range []struct {
		name   string
		slices []*resourceapi.ResourceSlice
		want   int64
	}{
		{"an old generation", []*resourceapi.ResourceSlice{on(poolSlice("p", 1, 1, 4)), on(poolSlice("p", 2, 1, 8))}, 8},
		{"a pool of two slices", []*resourceapi.ResourceSlice{on(poolSlice("p", 1, 2, 4)), on(poolSlice("p", 1, 2, 8))}, 12},
		{"a pool that lacks a slice", []*resourceapi.ResourceSlice{on(poolSlice("p", 1, 2, 4))}, 0},
		{"a generation that is not complete yet", []*resourceapi.ResourceSlice{on(poolSlice("p", 1, 1, 4)), on(poolSlice("p", 2, 2, 8))}, 0},
		{"a slice that is gone", nil, 0},
		{"pools of the same name on two nodes", []*resourceapi.ResourceSlice{on(poolSlice("p", 1, 1, 4)), {Spec: resourceapi.ResourceSliceSpec{
			Driver: "gpu", NodeName: ptr.To("n2"), Pool: resourceapi.ResourcePool{Name: "p", Generation: 7, ResourceSliceCount: 1},
		}}}, 4},
	} {
		offers := offersOf([]*resourceapi.DeviceClass{gpuClass("gpus", gpu)}, c.slices)
		if got := offers.on(node("n1", "v1.34.1", nil), nil)[gpu]; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestASharedDeviceIsOfferedAsOftenAsItsPoliciesAllow(t *testing.T) {
	capacity := func(value string, byDefault ...string) resourceapi.DeviceCapacity {
		c := resourceapi.DeviceCapacity{Value: resource.MustParse(value)}
		for _, d := range byDefault {
			c.RequestPolicy = &resourceapi.CapacityRequestPolicy{Default: ptr.To(resource.MustParse(d))}
		}
		return c
	}
	for _, c := range []struct {
		name   string
		device resourceapi.Device
		want   int64
	}{
		{"it is not shared", resourceapi.Device{Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": capacity("80Gi", "10Gi")}}, 1},
		{"the scarcest capacity decides", resourceapi.Device{
			AllowMultipleAllocations: ptr.To(true),
			Capacity:                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": capacity("80Gi", "10Gi"), "cores": capacity("100", "30")},
		}, 3},
		{"a capacity without policy is consumed whole", resourceapi.Device{
			AllowMultipleAllocations: ptr.To(true),
			Capacity:                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": capacity("80Gi", "10Gi"), "cores": capacity("100")},
		}, 1},
		{"fractions count exactly", resourceapi.Device{
			AllowMultipleAllocations: ptr.To(true), Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"share": capacity("1", "100m")},
		}, 10},
		{"a default that does not fit", resourceapi.Device{
			AllowMultipleAllocations: ptr.To(true), Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"share": capacity("1", "2")},
		}, 0},
		{"nothing is consumed", resourceapi.Device{
			AllowMultipleAllocations: ptr.To(true), Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"share": capacity("1", "0")},
		}, unlimited},
		{"it has no capacity", resourceapi.Device{AllowMultipleAllocations: ptr.To(true)}, unlimited},
	} {
		slice := gpusOn("n1", 0)
		c.device.Name = "gpu-0"
		slice.Spec.Devices = []resourceapi.Device{c.device}
		if got := offersOf([]*resourceapi.DeviceClass{gpuClass("gpus", gpu)}, []*resourceapi.ResourceSlice{slice}).on(node("n1", "v1.34.1", nil), nil)[gpu]; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestEveryPartitionIsOffered(t *testing.T) {
	slice := gpusOn("n1", 3)
	slice.Spec.SharedCounters = []resourceapi.CounterSet{counters("gpu-0")}
	for i := range slice.Spec.Devices {
		slice.Spec.Devices[i].ConsumesCounters = consuming("", "gpu-0", "40Gi").ConsumesCounters
	}
	if got := offersOf([]*resourceapi.DeviceClass{gpuClass("gpus", gpu)}, []*resourceapi.ResourceSlice{slice}).on(node("n1", "v1.34.1", nil), nil)[gpu]; got != 3 {
		t.Errorf("%d, want 3", got)
	}
}

func TestOffersFollowTheNamesOfClasses(t *testing.T) {
	n1 := node("n1", "v1.35.0", nil)
	slices := []*resourceapi.ResourceSlice{gpusOn("n1", 8)}
	implicit := corev1.ResourceName(resourceapi.ResourceDeviceClassPrefix + "gpus")
	others := offering("newer", -time.Hour, string(gpu))
	others.Spec.Selectors = selectors(`device.driver == "other"`)
	for _, c := range []struct {
		name    string
		classes []*resourceapi.DeviceClass
		wanted  []string
		want    map[corev1.ResourceName]int64
	}{
		{"no class", nil, nil, nil},
		{"a class that offers nothing", []*resourceapi.DeviceClass{gpuClass("gpus", "")}, nil, nil},
		{"a name", []*resourceapi.DeviceClass{gpuClass("gpus", gpu)}, nil, map[corev1.ResourceName]int64{gpu: 8}},
		{"another name", []*resourceapi.DeviceClass{gpuClass("gpus", "example.com/gpu")}, nil, map[corev1.ResourceName]int64{"example.com/gpu": 8}},
		{"the implicit name, which somebody wants", []*resourceapi.DeviceClass{gpuClass("gpus", "")}, []string{"gpus", "absent"}, map[corev1.ResourceName]int64{implicit: 8}},
		{"both names", []*resourceapi.DeviceClass{gpuClass("gpus", gpu)}, []string{"gpus"}, map[corev1.ResourceName]int64{gpu: 8, implicit: 8}},
		{"two names of the same devices", []*resourceapi.DeviceClass{gpuClass("a", gpu), gpuClass("b", "example.com/gpu")}, nil, map[corev1.ResourceName]int64{gpu: 8, "example.com/gpu": 8}},
		{"selectors that no device matches", []*resourceapi.DeviceClass{others}, nil, nil},
		{"the newest class wins, though it has no devices", []*resourceapi.DeviceClass{gpuClass("gpus", gpu), others}, nil, nil},
	} {
		offers := offersOf(c.classes, slices, c.wanted...)
		if got := offers.on(n1, nil); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestOffersThatAreTheSameAreEqual(t *testing.T) {
	of := func(number int, zone string, offered corev1.ResourceName) *Offers {
		selected, everywhere := poolSlice("zone", 1, 1, number), poolSlice("all", 1, 1, number)
		selected.Spec.NodeSelector, everywhere.Spec.AllNodes = inZone(zone), ptr.To(true)
		return offersOf([]*resourceapi.DeviceClass{gpuClass("gpus", offered)}, []*resourceapi.ResourceSlice{gpusOn("n1", number), selected, everywhere})
	}
	if !of(8, "a", gpu).Equal(of(8, "a", gpu)) || !(*Offers)(nil).Equal(nil) {
		t.Error("the same offers differ")
	}
	for _, other := range []*Offers{nil, of(7, "a", gpu), of(8, "b", gpu), of(8, "a", "example.com/gpu")} {
		if of(8, "a", gpu).Equal(other) || other.Equal(of(8, "a", gpu)) {
			t.Errorf("%v is the same", other)
		}
	}
}

// BenchmarkOffers uses a cluster of 1,000 nodes with eight devices each, and five classes.
func BenchmarkOffers(b *testing.B) {
	var classes []*resourceapi.DeviceClass
	for i := range 5 {
		classes = append(classes, gpuClass(fmt.Sprintf("class-%d", i), corev1.ResourceName(fmt.Sprintf("example.com/gpu-%d", i))))
	}
	var slices []*resourceapi.ResourceSlice
	for i := range 1000 {
		slices = append(slices, gpusOn(fmt.Sprintf("node-%d", i), 8))
	}
	catalog := NewCatalog(classes, slices)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			NewOffers(catalog, newMatcher(), nil)
		}
	})
	b.Run("one slice has changed", func(b *testing.B) {
		matcher := newMatcher()
		NewOffers(catalog, matcher, nil)
		for b.Loop() {
			slices[0] = gpusOn("node-0", 8)
			NewOffers(NewCatalog(classes, slices), matcher, nil)
		}
	})
	b.Run("shown on a node", func(b *testing.B) {
		offers, n := NewOffers(catalog, newMatcher(), nil), node("node-7", "v1.34.1", nil)
		for b.Loop() {
			ShowOffers(n, offers)
		}
	})
}
