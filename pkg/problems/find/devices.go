// SPDX-License-Identifier: Apache-2.0

package find

import (
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/problems"
	"github.com/devicequota/devicequota/pkg/quota"
)

// findContradictionOfDevices finds contradictory numbers of devices in the quotas of a queue.
func (f *Finder) findContradictionOfDevices(found *Found, queue *Queue) {
	if queue.Object == nil {
		return
	}
	for _, twice := range quota.DevicesListedTwice(queue.Object, &ledger.Dimensions{}, f.Catalog.CapacityOfSeveralDrivers) {
		found.Problems.DevicesListedTwice(queue.Name,
			problems.ListedDevices{Field: twice.Field, Dimension: twice.Dimension, Number: twice.Number},
			problems.ListedDevices{Field: twice.Other, Dimension: twice.OtherDimension, Number: twice.OtherNumber})
	}
	if c, any := quota.ContradictionOfDevices(queue.Devices); any {
		found.Problems.ContradictoryDevices(queue.Name, f.Dimensions.Dimension(c.Dimension), c.More, c.Number, c.Bound, c.Limit)
	}
}
