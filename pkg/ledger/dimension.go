package ledger

// Kind tells the kinds of countable things apart.
type Kind uint8

const (
	// Resource is an ordinary resource such as cpu, memory or nvidia.com/gpu. Its unit is
	// the resource's own: cores, bytes, pieces.
	Resource Kind = iota
	// Card is a card model, or a share of one, that a device plugin hands out. Unit: cards.
	Card
	// DeviceCount is the number of devices of a DeviceClass. Unit: devices.
	DeviceCount
	// DeviceCapacity is a capacity dimension of the devices of a DeviceClass, such as
	// memory. Its unit is the quantity's own.
	DeviceCapacity
)

// Dimension names one countable thing. Equal dimensions compare with ==.
type Dimension struct {
	Kind Kind
	// Name is the resource, the card or the DeviceClass.
	Name string
	// Capacity is the capacity dimension for DeviceCapacity, else empty.
	Capacity string
}

// String is the name that people see in events.
func (d Dimension) String() string {
	if d.Kind == DeviceCapacity {
		return d.Name + "/" + d.Capacity
	}
	return d.Name
}

// uncapped reports whether the dimension is counted but never limited, which is how Volcano
// treats the resource pods.
func (d Dimension) uncapped() bool {
	return d.Kind == Resource && d.Name == "pods"
}

// Ordinal is an interned dimension: its index in the accounts of every queue.
type Ordinal int32

// Dimensions interns dimensions. It is not safe for concurrent use: intern while
// demands and limits are made, not while they are checked. The zero value is empty and
// ready for use.
type Dimensions struct {
	ordinals map[Dimension]Ordinal
	names    []Dimension
	// capacities has the capacity dimensions of each DeviceClass.
	capacities map[string][]Ordinal
	// capacityCount is how many there are in all.
	capacityCount int
}

// Ordinal returns the ordinal of d, giving it the next one when it is new.
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
			ds.capacities = map[string][]Ordinal{}
		}
		ds.capacities[d.Name] = append(ds.capacities[d.Name], o)
		ds.capacityCount++
	}
	return o
}

// Dimension returns what was interned as o.
func (ds *Dimensions) Dimension(o Ordinal) Dimension {
	return ds.names[o]
}

// Known returns the ordinal of d; false when it was never interned.
func (ds *Dimensions) Known(d Dimension) (Ordinal, bool) {
	o, known := ds.ordinals[d]
	return o, known
}

// Len is the number of dimensions: ordinals are below it.
func (ds *Dimensions) Len() int {
	return len(ds.names)
}

// Capacities returns the capacity dimensions of a DeviceClass, which must not be changed.
func (ds *Dimensions) Capacities(class string) []Ordinal {
	return ds.capacities[class]
}

// CapacityCount is the number of capacity dimensions of all classes. It only grows.
func (ds *Dimensions) CapacityCount() int {
	return ds.capacityCount
}
