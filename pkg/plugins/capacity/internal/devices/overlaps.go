// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"slices"
	"sync"
	"time"

	"github.com/devicequota/devicequota/pkg/dra"
)

const (
	// maxEvaluations limits a search for classes that share devices. A full search takes a few seconds.
	maxEvaluations = 100_000
	// restFactor times the duration of a search is the pause before the next search.
	restFactor = 10
)

// overlapSearch is the background search for classes that share devices.
type overlapSearch struct {
	mu    sync.Mutex
	found dra.Overlaps
	// running says that a search runs. notBefore is the earliest start of the next search.
	running   bool
	notBefore time.Time
	// catalog and classes are the input of the last search.
	catalog *dra.Catalog
	classes []string
}

// Overlaps returns the overlaps of classes that the last search found.
func (c *Cache) Overlaps() dra.Overlaps {
	c.overlaps.mu.Lock()
	defer c.overlaps.mu.Unlock()
	return c.overlaps.found
}

// SearchOverlaps starts a search for the classes that share devices with any of these classes, unless the answer is
// known. The classes must be sorted by name.
func (c *Cache) SearchOverlaps(catalog *dra.Catalog, classes []string) {
	s := &c.overlaps
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.catalog == catalog && slices.Equal(s.classes, classes)
	if known || s.running || time.Now().Before(s.notBefore) {
		return
	}
	classes = slices.Clone(classes)
	s.running = c.background.TryGo(func() error {
		c.searchOverlaps(catalog, classes)
		return nil
	})
	if s.running {
		s.catalog, s.classes = catalog, classes
	}
}

func (c *Cache) searchOverlaps(catalog *dra.Catalog, classes []string) {
	began := time.Now()
	found := dra.FindOverlaps(c.ctx, catalog, classes, c.Matcher().CELCache(), maxEvaluations)
	s := &c.overlaps
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.found, s.running, s.notBefore = found, false, now.Add(restFactor*now.Sub(began))
}
