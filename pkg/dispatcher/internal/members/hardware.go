// SPDX-License-Identifier: Apache-2.0

package members

import "github.com/devicequota/devicequota/pkg/ledger"

// hardware is what a member reports of its cards and devices. It does not change: what changes makes another one.
type hardware struct {
	// looked says that cards and devices are looked at. Otherwise, they bound nothing.
	looked bool
	// amounts has figures of cards, of devices, and of capacities of devices.
	amounts figures
	// classes are the DeviceClasses that have been counted.
	classes map[string]bool
	// shared are the DeviceClasses with devices that several claims may have. Their number bounds nothing.
	shared map[string]bool
}

// unseen is the report of a member that is not looked at, unread that of a member that has not been read yet.
var unseen, unread = &hardware{}, &hardware{looked: true}

// bound says what the figure of a dimension is worth, which is not a resource.
func (r *hardware) bound(d ledger.Dimension) bound {
	switch {
	case !r.looked:
		return unknown
	case r.amounts == nil, d.Kind != ledger.Card && !r.classes[d.Name]:
		return awaited
	case d.Kind == ledger.DeviceCount && r.shared[d.Name]:
		return unknown
	}
	return bounded
}
