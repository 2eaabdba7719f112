// SPDX-License-Identifier: Apache-2.0

// Package extended decides which extended resources DRA offers on nodes. It also finds out whether DRA or device plugins serve
// extended resources.
package extended

import (
	"slices"

	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/devicequota/devicequota/pkg/dra"
)

// Offers keeps what DRA offers nodes as extended resources. Only the goroutine that runs the sessions uses it.
type Offers struct {
	// Wanted has the classes whose implicit resource is offered.
	Wanted  Wanted
	matcher *dra.Matcher
	// current was built from catalog and classes. The object is only replaced by a different one.
	current *dra.Offers
	catalog *dra.Catalog
	classes []string
}

// Of returns what the classes of a catalog offer. It returns the same object as long as nothing has changed.
func (o *Offers) Of(catalog *dra.Catalog, selectors *cel.Cache) *dra.Offers {
	if o.matcher == nil {
		o.matcher = dra.NewMatcher(selectors)
	}
	classes := o.Wanted.names()
	if catalog == o.catalog && slices.Equal(classes, o.classes) {
		return o.current
	}
	o.catalog, o.classes = catalog, classes
	if next := dra.NewOffers(catalog, o.matcher, classes); !next.Equal(o.current) {
		o.current = next
	}
	return o.current
}

// Drop forgets the offers.
func (o *Offers) Drop() { o.current, o.catalog, o.classes = nil, nil, nil }
