// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

// TestWhatDevicesMatchIsRememberedForAllClasses: the totals of the cluster are measured every few seconds, and the selectors of a class often fail for
// devices of other drivers. Another ResourceSlice changes nothing about those that stay.
func TestWhatDevicesMatchIsRememberedForAllClasses(t *testing.T) {
	const nodes, classes = 100, 10
	var slices []*resourceapi.ResourceSlice
	for n := range nodes {
		var gpus, nics []resourceapi.Device
		for i := range 8 {
			model := resourceapi.DeviceAttribute{StringValue: ptr.To(fmt.Sprint("m", n%classes))}
			gpus = append(gpus, resourceapi.Device{Name: fmt.Sprint("gpu-", i), Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"model": model}})
			nics = append(nics, resourceapi.Device{Name: fmt.Sprint("nic-", i)})
		}
		node := fmt.Sprint("n", n)
		nic := sliceOn(node, "nics-"+node, nics...)
		nic.Spec.Driver = "nic"
		slices = append(slices, sliceOn(node, "gpus-"+node, gpus...), nic)
	}
	var all []*resourceapi.DeviceClass
	for c := range classes {
		all = append(all, class(fmt.Sprint("c", c), fmt.Sprintf(`device.attributes["driver"].model == "m%d"`, c)))
	}
	ask := func(catalog *Catalog) {
		a := withEverything(catalog)
		for c := range classes {
			if got := len(a.Supplies(t.Context(), fmt.Sprint("c", c)).OnNode); got != nodes/classes {
				t.Errorf("%d nodes have devices of a class, want %d", got, nodes/classes)
			}
		}
	}
	before := NewCatalog(all, slices)
	ask(before)
	changed := slices[0]
	slices[0] = changed.DeepCopy()
	catalog := NewCatalog(all, slices)
	catalog.Inherit(before)
	ask(catalog)
	for _, slice := range slices {
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			if inherits := catalog.members[device] == before.members[device]; inherits != (slice != slices[0]) {
				t.Errorf("what is known of %s of %s is inherited: %t", device.Name, slice.Name, inherits)
			}
			if known := len(catalog.members[device].of); known != classes {
				t.Errorf("%d classes are known of %s of %s, want %d", known, device.Name, slice.Name, classes)
			}
		}
	}
}
