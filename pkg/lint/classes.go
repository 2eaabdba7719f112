// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/devicequota/devicequota/pkg/problems"
)

// checkClasses finds DeviceClasses that do not do what their names promise.
func (w *world) checkClasses() {
	if w.catalog == nil {
		return
	}
	contested := w.catalog.Contested()
	for i := range contested {
		c := &contested[i]
		w.add(problems.ExtendedResourceContestedReason, Ref{Kind: Classes, Name: c.Class.Name}, Path{"spec", "extendedResourceName"}, problems.Contested(c))
	}
	invalid := map[string]bool{}
	for class, err := range w.matcher.Invalid {
		invalid[class] = true
		w.add(InvalidClass, Ref{Kind: Classes, Name: class}, Path{"spec", "selectors"},
			fmt.Sprintf("The scheduler cannot evaluate the selectors of DeviceClass %s, so that no device matches it: correct the DeviceClass: %v", class, err))
	}
	counts, all := w.devicesOfClasses(), len(maps.Collect(w.catalog.Devices))
	for _, class := range slices.Sorted(w.catalog.Classes) {
		if counts != nil && counts[class] == 0 && !invalid[class] {
			w.add(ClassWithoutDevices, Ref{Kind: Classes, Name: class}, Path{"spec", "selectors"},
				fmt.Sprintf("DeviceClass %s matches none of the %d devices in ResourceSlices, so that pods which claim its devices wait: correct its selectors, or start a driver with such devices", class, all))
		}
	}
}

// devicesOfClasses counts the devices that match each class. It returns nil if no devices are known.
func (w *world) devicesOfClasses() map[string]int64 {
	if w.catalog == nil || !w.Known[Slices] {
		return nil
	}
	counts := map[string]int64{}
	for id, device := range w.catalog.Devices {
		for _, class := range w.matcher.Matching(id, device) {
			counts[class]++
		}
	}
	return counts
}
