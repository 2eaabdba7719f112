// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"maps"
	"slices"
	"strings"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// Matcher finds the classes that a device matches, regardless of the requested class. It evaluates the selectors of a class once per
// device, and remembers the result while both stay the same. Several goroutines may call Matching concurrently, but not during Use.
type Matcher struct {
	celCache *cel.Cache
	catalog  *Catalog
	// names lists the relevant classes, sorted, whether they exist or not.
	names []string
	// classes holds the classes that exist and are, or have been, relevant. A class keeps its place while its selectors stay the same. A free place is nil.
	classes []*compiledClass
	// order lists the places of the relevant classes, sorted by class name.
	order []int

	mu sync.RWMutex
	// devices holds the results for each published device. A device that is published again is another object.
	devices map[*resourceapi.Device]*matches
}

// matches holds the results for one device. The bit of a class is its place.
type matches struct {
	id              DeviceID
	known, matching bits
}

// CELCache returns the cache that the matcher compiles selectors with.
func (m *Matcher) CELCache() *cel.Cache { return m.celCache }

// NewMatcher returns a matcher without relevant classes.
func NewMatcher(celCache *cel.Cache) *Matcher {
	return &Matcher{celCache: celCache, devices: map[*resourceapi.Device]*matches{}}
}

// Use sets the relevant classes, sorted by name, and the published devices. It reports whether the results for devices may have changed.
func (m *Matcher) Use(catalog *Catalog, names []string) bool {
	if m.catalog == catalog && slices.Equal(m.names, names) {
		return false
	}
	if m.catalog != catalog { // forget devices that are no longer published
		maps.DeleteFunc(m.devices, func(device *resourceapi.Device, known *matches) bool {
			published, _ := catalog.Device(known.id)
			return published != device
		})
	}
	m.catalog, m.names = catalog, slices.Clone(names)
	return m.useClasses()
}

// useClasses updates the classes. Unchanged classes keep their places, also while they are not relevant: users make classes relevant, and
// administrators bound their number.
func (m *Matcher) useClasses() bool {
	before, wanted := slices.Clone(m.order), map[string]*resourceapi.DeviceClass{}
	for _, name := range m.names {
		if class, found := m.catalog.Class(name); found {
			wanted[name] = class
		}
	}
	changed := false
	for place, c := range m.classes {
		if c == nil {
			continue
		}
		if class, found := m.catalog.Class(c.name); found && c.is(class) {
			delete(wanted, c.name)
			continue
		}
		m.free(place)
		changed = true
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		changed = true
		class := compile(wanted[name], m.celCache)
		if place := slices.Index(m.classes, nil); place >= 0 {
			m.classes[place] = class
		} else {
			m.classes = append(m.classes, class)
		}
	}
	m.sort()
	return changed || !slices.Equal(before, m.order)
}

// free makes room for another class.
func (m *Matcher) free(place int) {
	m.classes[place] = nil
	for _, known := range m.devices {
		known.known.clear(place)
		known.matching.clear(place)
	}
}

// sort orders the relevant classes.
func (m *Matcher) sort() {
	m.order = m.order[:0]
	for place, c := range m.classes {
		if c != nil && slices.Contains(m.names, c.name) {
			m.order = append(m.order, place)
		}
	}
	slices.SortFunc(m.order, func(a, b int) int { return strings.Compare(m.classes[a].name, m.classes[b].name) })
}

// Others reports whether any other class is relevant.
func (m *Matcher) Others(class string) bool {
	return len(m.order) > 1 || len(m.order) == 1 && m.classes[m.order[0]].name != class
}

// Invalid calls yield for each relevant class with selectors that this scheduler cannot evaluate, with the reason. No device
// matches such a class.
func (m *Matcher) Invalid(yield func(class string, err error) bool) {
	for _, place := range m.order {
		if c := m.classes[place]; c.err != nil && !yield(c.name, c.err) {
			return
		}
	}
}

// Matching returns the relevant classes that a device matches, sorted.
func (m *Matcher) Matching(id DeviceID, device *resourceapi.Device) []string {
	known := m.matchesOf(id, device)
	var names []string
	for _, place := range m.order {
		if known.has(place) {
			names = append(names, m.classes[place].name)
		}
	}
	return names
}

// placesOf returns the places of classes. The classes must exist and be relevant.
func (m *Matcher) placesOf(classes []string) []int {
	places := make([]int, len(classes))
	for i, name := range classes {
		places[i] = slices.IndexFunc(m.classes, func(c *compiledClass) bool { return c != nil && c.name == name })
	}
	return places
}

func (m *Matcher) matchesOf(id DeviceID, device *resourceapi.Device) bits {
	m.mu.RLock()
	known := m.devices[device]
	complete := known != nil && !slices.ContainsFunc(m.order, func(place int) bool { return !known.known.has(place) })
	m.mu.RUnlock()
	if complete {
		return known.matching
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known = m.devices[device]; known == nil {
		known = &matches{id: id}
		m.devices[device] = known
	}
	for _, place := range m.order {
		if known.known.has(place) {
			continue
		}
		known.known.set(place)
		if m.classes[place].matches(id.Driver, device) {
			known.matching.set(place)
		}
	}
	return known.matching
}

type bits []uint64

func (b bits) has(i int) bool { return i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0 }

func (b *bits) set(i int) {
	for len(*b) <= i/64 {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bits) clear(i int) {
	if b.has(i) {
		b[i/64] &^= 1 << (i % 64)
	}
}
