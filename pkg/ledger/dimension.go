// SPDX-License-Identifier: Apache-2.0

package ledger

// Dimension names a thing that quotas count. Dimensions compare with ==.
type Dimension struct {
	Kind Kind
	// Name is the name of the resource, the card or the DeviceClass.
	Name string
	// Capacity is the name of the capacity. It is empty unless Kind is DeviceCapacity.
	Capacity string
}

// String returns the name that users see in events.
func (d Dimension) String() string {
	if d.Capacity != "" {
		return d.Name + "/" + d.Capacity
	}
	return d.Name
}

// uncapped reports whether the size of the cluster does not limit the dimension. Volcano treats the resource pods this way.
func (d Dimension) uncapped() bool {
	return d.Kind == Resource && d.Name == "pods"
}

// Ordinal is an interned dimension. It is an index into the accounts and limits of every queue.
type Ordinal int32

// Dimensions interns dimensions. It is not safe for concurrent use. Intern dimensions while you build demands and
// limits, not while you check them. The zero value is empty and ready to use.
type Dimensions struct {
	ordinals map[Dimension]Ordinal
	names    []Dimension
	// capacities holds the DeviceCapacity dimensions of each DeviceClass.
	capacities map[string][]Ordinal
	// capacityCount is the number of DeviceCapacity dimensions.
	capacityCount int
	// spellings holds the DeviceCapacity dimensions that differ only in their domain. The key is the dimension without
	// a domain. respelled says that a capacity has several spellings.
	spellings map[Dimension][]Ordinal
	respelled bool
}

// Ordinal returns the ordinal of d. A new dimension gets the next free ordinal.
func (ds *Dimensions) Ordinal(d Dimension) Ordinal {
	if o, known := ds.ordinals[d]; known {
		return o
	}
	if ds.ordinals == nil {
		ds.ordinals = map[Dimension]Ordinal{}
	}
	o := Ordinal(len(ds.names))
	ds.ordinals[d] = o
	ds.names = append(ds.names, d)
	if d.Kind == DeviceCapacity {
		if ds.capacities == nil {
			ds.capacities, ds.spellings = map[string][]Ordinal{}, map[Dimension][]Ordinal{}
		}
		ds.capacities[d.Name] = append(ds.capacities[d.Name], o)
		ds.capacityCount++
		ds.spellings[d.bare()] = append(ds.spellings[d.bare()], o)
		ds.respelled = ds.respelled || len(ds.spellings[d.bare()]) > 1
	}
	return o
}

// Dimension returns the dimension that was interned as o.
func (ds *Dimensions) Dimension(o Ordinal) Dimension {
	return ds.names[o]
}

// Known returns the ordinal of d. It returns false if d is not interned.
func (ds *Dimensions) Known(d Dimension) (Ordinal, bool) {
	o, known := ds.ordinals[d]
	return o, known
}

// Len returns the number of dimensions. All ordinals are less than it.
func (ds *Dimensions) Len() int {
	return len(ds.names)
}

// Capacities returns the capacities of a DeviceClass. Callers must not change the list.
func (ds *Dimensions) Capacities(class string) []Ordinal {
	return ds.capacities[class]
}

// CapacityCount returns the number of capacities of all classes. It never decreases.
func (ds *Dimensions) CapacityCount() int {
	return ds.capacityCount
}
