// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"slices"
	"sync"
	"time"

	"github.com/devicequota/devicequota/pkg/dra"
)

const (
	// maxEvaluations bounds a search for classes that share devices. It takes a few seconds.
	maxEvaluations = 100_000
	// restFactor is how many times as long as a search took no other search begins.
	restFactor = 10
)

// overlapSearch is the search for classes that share devices. It runs in the background.
type overlapSearch struct {
	mu    sync.Mutex
	found dra.Overlaps
	// running says that a search runs, and notBefore when the next one may begin.
	running   bool
	notBefore time.Time
	// catalog and classes are what the last search was about.
	catalog *dra.Catalog
	classes []string
}

// Overlaps returns which classes shared devices when it was last searched for.
func (c *Cache) Overlaps() dra.Overlaps {
	c.overlaps.mu.Lock()
	defer c.overlaps.mu.Unlock()
	return c.overlaps.found
}

// SearchOverlaps begins to search for the classes that share devices with any of these classes, sorted by name, unless
// the answer is known.
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
