// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/predicates"
)

// offered keeps what nodes are offered by DRA as extended resources.
type offered struct {
	wanted  wantedClasses
	matcher *dra.Matcher
	// current was made of catalog and classes. It stays the same object as long as it would be equal.
	current *dra.Offers
	catalog *dra.Catalog
	classes []string
}

// Offers returns what DRA offers nodes as extended resources to a session with these plugins: the same object as long as nothing has
// changed. It is nil while no devices are allocated. The goroutine that runs the sessions calls it before each of them.
func (p *Plugins) Offers(plugins []conf.Tier) *dra.Offers {
	c := p.cache
	if c.devices == nil || !c.devices.Ready() || !predicates.LeavesDevicesTo(plugins, Name, CardName) {
		c.offered.drop()
		return nil
	}
	if c.offered.matcher == nil {
		c.offered.matcher = dra.NewMatcher(c.devices.Matcher().CELCache())
	}
	return c.offered.of(c.devices.Catalog())
}

// of returns the offers of a catalog.
func (o *offered) of(catalog *dra.Catalog) *dra.Offers {
	classes := o.wanted.names()
	if catalog == o.catalog && slices.Equal(classes, o.classes) {
		return o.current
	}
	o.catalog, o.classes = catalog, classes
	if next := dra.NewOffers(catalog, o.matcher, classes); !next.Equal(o.current) {
		o.current = next
	}
	return o.current
}

// drop forgets the offers.
func (o *offered) drop() { o.current, o.catalog, o.classes = nil, nil, nil }
