// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// published is a capacity of the devices of a driver.
type published struct{ driver, name string }

// checkCapacities finds quotas of a capacity that no device of the class has. Another rule covers classes without devices.
func (w *world) checkCapacities() {
	classes := w.capacitiesOfClasses()
	for limit := range w.limits {
		d := w.counter.Dimensions.Dimension(limit.Dimension)
		capacities, known := classes[d.Name]
		has := func(p published) bool { return dra.SameCapacity(p.driver, p.name, d.Capacity) }
		if d.Kind != ledger.DeviceCapacity || !known || slices.ContainsFunc(slices.Collect(maps.Keys(capacities)), has) {
			continue
		}
		w.add(UnknownCapacity, Ref{Kind: Queues, Name: limit.queue}, fieldOfLimit(limit.list, d),
			fmt.Sprintf("The queue's %s of %s lists the capacity <%s>, which no device of the class has: correct the name, they have %s", limit.list, d.Name, d.Capacity, listed(capacities)))
	}
}

// capacitiesOfClasses returns the capacities of the devices of each class. It leaves out classes without devices.
func (w *world) capacitiesOfClasses() map[string]map[published]bool {
	classes := map[string]map[published]bool{}
	if !w.Known[Slices] {
		return classes
	}
	for id, device := range w.catalog.Devices {
		for _, class := range w.matcher.Matching(id, device) {
			if classes[class] == nil {
				classes[class] = map[published]bool{}
			}
			for name := range device.Capacity {
				classes[class][published{id.Driver, string(name)}] = true
			}
		}
	}
	return classes
}

func listed(capacities map[published]bool) string {
	names := map[string]bool{}
	for capacity := range capacities {
		names[capacity.name] = true
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}
