// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

func TestWhatOnlyANewerAPIKnows(t *testing.T) {
	model := func(name string, change func(*resourceapi.Device)) resourceapi.Device {
		device := resourceapi.Device{Name: name, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"model": {StringValue: ptr.To("h100")}}}
		change(&device)
		return device
	}
	tainted := func(effect resourceapi.DeviceTaintEffect) func(*resourceapi.Device) {
		return func(d *resourceapi.Device) {
			d.Taints = []resourceapi.DeviceTaint{{Key: "example.com/watched", Effect: effect}}
		}
	}
	slice := sliceOn("n1", "n1",
		model("with-a-list", func(d *resourceapi.Device) { d.Attributes["links"] = resourceapi.DeviceAttribute{} }),
		model("without-a-model", func(d *resourceapi.Device) { d.Attributes["model"] = resourceapi.DeviceAttribute{} }),
		model("taint-without-effect", tainted("None")),
		model("taint-of-the-future", tainted("PreferNoSchedule")),
		model("not-for-new-pods", tainted(resourceapi.DeviceTaintEffectNoSchedule)),
		model("not-for-pods", tainted(resourceapi.DeviceTaintEffectNoExecute)),
	)
	before := slice.DeepCopy()
	gpu := class("gpu", `"model" in device.attributes["driver"] && device.attributes["driver"].model == "h100"`)
	a := withEverything(NewCatalog([]*resourceapi.DeviceClass{gpu}, []*resourceapi.ResourceSlice{slice}))
	if got, want := pickable(t, a), []string{"with-a-list", "taint-without-effect", "taint-of-the-future"}; !slices.Equal(got, want) {
		t.Errorf("the devices handed out are %v, want %v", got, want)
	}
	if len(slice.Spec.Devices[0].Attributes) != len(before.Spec.Devices[0].Attributes) || len(slice.Spec.Devices[2].Taints) != 1 {
		t.Error("the informer's ResourceSlice was changed")
	}
}
