// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Kind is the kind of a dimension.
type Kind string

const (
	// Resource is a resource of nodes, such as cpu or memory. The unit is that of the resource.
	Resource Kind = "Resource"
	// Card is a card model, or a share of one, that device plugins serve. The unit is cards.
	Card Kind = "Card"
	// Device is the number of devices of a DeviceClass.
	Device Kind = "Device"
	// DeviceCapacity is a capacity of the devices of a DeviceClass, such as memory. The unit is that of the capacity.
	DeviceCapacity Kind = "DeviceCapacity"
)

// Dimension is one thing that quotas count.
type Dimension struct {
	Kind Kind `json:"kind"`
	// Name is the name of the resource, the card, or the DeviceClass.
	Name string `json:"name"`
	// Capacity is the name of the capacity. It is empty unless the kind is DeviceCapacity.
	Capacity string `json:"capacity,omitempty"`
}

// String returns the name that people see in events.
func (d Dimension) String() string {
	if d.Capacity != "" {
		return d.Name + "/" + d.Capacity
	}
	return d.Name
}

// Named reports whether people mean the dimension by a name. That of a DeviceClass stands for its capacities, too.
func (d Dimension) Named(name string) bool { return d.Name == name || d.String() == name }

// Amount is how much of a dimension. It is never negative.
type Amount struct {
	Dimension `json:",inline"`
	// Amount is exact: a quantity has no finer grain than the ledger.
	Amount resource.Quantity `json:"amount"`
}
