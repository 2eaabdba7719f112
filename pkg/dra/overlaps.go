// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"cmp"
	"context"
	"hash/fnv"
	"maps"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// Overlaps maps classes to the other classes that they share devices with, sorted by name.
type Overlaps map[string][]string

// FindOverlaps returns the overlaps of some classes with all classes. It evaluates a class for a device at most most times. If
// this is too few, it uses a sample of the devices. It stops early when ctx ends.
func FindOverlaps(ctx context.Context, catalog *Catalog, names []string, celCache *cel.Cache, most int) Overlaps {
	search := overlapSearch{pairs: map[string]map[string]bool{}, left: most}
	search.over(ctx, catalog, names, celCache)
	overlaps := Overlaps{}
	for name, others := range search.pairs {
		if len(others) > 0 {
			overlaps[name] = slices.Sorted(maps.Keys(others))
		}
	}
	return overlaps
}

// sample returns all devices in a stable order that is unrelated to their names. The first devices are therefore from many
// drivers and nodes.
func (c *Catalog) sample() []DeviceID {
	type hashed struct {
		id   DeviceID
		hash uint64
	}
	all := make([]hashed, 0, len(c.devices))
	for id := range c.devices {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(id.String())) // never fails
		all = append(all, hashed{id, hash.Sum64()})
	}
	slices.SortFunc(all, func(a, b hashed) int { return cmp.Compare(a.hash, b.hash) })
	ids := make([]DeviceID, len(all))
	for i := range all {
		ids[i] = all[i].id
	}
	return ids
}

type overlapSearch struct {
	of, all []*compiledClass
	// pairs holds the overlapping classes of each class of interest.
	pairs map[string]map[string]bool
	// left is the number of evaluations left.
	left int
}

func (s *overlapSearch) over(ctx context.Context, catalog *Catalog, names []string, celCache *cel.Cache) {
	for _, name := range names {
		if class, found := catalog.Class(name); found {
			s.of = append(s.of, compile(class, celCache))
			s.pairs[name] = map[string]bool{}
		}
	}
	if len(s.of) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(catalog.classes)) {
		s.all = append(s.all, compile(catalog.classes[name], celCache))
	}
	for _, id := range catalog.sample() {
		if ctx.Err() != nil || s.left <= 0 {
			return
		}
		s.look(id.Driver, catalog.devices[id])
	}
}

// look adds the pairs of classes that a device matches. It does not evaluate known pairs again.
func (s *overlapSearch) look(driver string, device *resourceapi.Device) {
	var matching []*compiledClass
	for _, class := range s.of {
		if len(s.pairs[class.name]) < len(s.all)-1 && s.matches(class, driver, device) {
			matching = append(matching, class)
		}
	}
	for _, other := range s.all {
		isNew := func(class *compiledClass) bool { return class.name != other.name && !s.pairs[class.name][other.name] }
		if !slices.ContainsFunc(matching, isNew) || !s.matches(other, driver, device) {
			continue
		}
		for _, class := range matching {
			if class.name != other.name {
				s.pairs[class.name][other.name] = true
			}
		}
	}
}

func (s *overlapSearch) matches(class *compiledClass, driver string, device *resourceapi.Device) bool {
	s.left--
	return class.matches(driver, device)
}
