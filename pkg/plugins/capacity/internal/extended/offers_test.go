// SPDX-License-Identifier: Apache-2.0

package extended

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"

	"github.com/devicequota/devicequota/pkg/dra"
)

func TestOffersAreMadeAnewOnlyIfSomethingHasChanged(t *testing.T) {
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpus"}, Spec: resourceapi.DeviceClassSpec{ExtendedResourceName: ptr.To("example.com/gpu")}}
	slice := func(devices ...resourceapi.Device) *resourceapi.ResourceSlice {
		return &resourceapi.ResourceSlice{Spec: resourceapi.ResourceSliceSpec{
			Driver: "gpu", NodeName: ptr.To("n1"), Pool: resourceapi.ResourcePool{Name: "n1", ResourceSliceCount: 1}, Devices: devices,
		}}
	}
	catalog := func(devices ...resourceapi.Device) *dra.Catalog {
		return dra.NewCatalog([]*resourceapi.DeviceClass{class}, []*resourceapi.ResourceSlice{slice(devices...)})
	}
	o, selectors := Offers{}, cel.NewCache(1, cel.Features{})
	of := func(catalog *dra.Catalog) *dra.Offers { return o.Of(catalog, selectors) }
	one := catalog(resourceapi.Device{Name: "a"})
	first := of(one)
	if of(one) != first || of(catalog(resourceapi.Device{Name: "b"})) != first {
		t.Error("the offers are others, though they are the same for every node")
	}
	if of(catalog(resourceapi.Device{Name: "a"}, resourceapi.Device{Name: "b"})) == first {
		t.Error("the offers are the same after a device was added")
	}
	o.Wanted.count(corev1.ResourceList{"deviceclass.resource.kubernetes.io/gpus": resource.MustParse("1")}, 1)
	shown := dra.ShowOffers(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, of(one))
	if !slices.Contains(dra.Served(shown), "deviceclass.resource.kubernetes.io/gpus") {
		t.Error("the implicit name of a class is not offered, though somebody wants it")
	}
	o.Drop()
	if of(dra.NewCatalog(nil, nil)) != nil {
		t.Error("something is offered without classes")
	}
}

func TestImplicitNamesAreWantedAsLongAsSomebodyRequestsThem(t *testing.T) {
	var w Wanted
	list := func(classes ...string) corev1.ResourceList {
		l := corev1.ResourceList{"cpu": resource.MustParse("1"), "nvidia.com/gpu": resource.MustParse("1")}
		for _, class := range classes {
			l[corev1.ResourceName(resourceapi.ResourceDeviceClassPrefix+class)] = resource.MustParse("1")
		}
		return l
	}
	for i, step := range []struct {
		list corev1.ResourceList
		more int
		want []string
	}{
		{list(), 1, nil},
		{list("b"), 1, []string{"b"}},
		{list("a", "b"), 1, []string{"a", "b"}},
		{list("b"), -1, []string{"a", "b"}},
		{list("a", "b"), -1, nil},
	} {
		if w.count(step.list, step.more); !slices.Equal(w.names(), step.want) {
			t.Errorf("step %d: %v, want %v", i, w.names(), step.want)
		}
	}
}
