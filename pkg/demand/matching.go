// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Matching determines the additional classes that a device counts for, besides the class in the claim.
type Matching struct {
	// Matcher finds the classes that a device matches. If it is nil, a device counts only for the class in the claim.
	Matcher *dra.Matcher
	// Limited lists the classes in the quotas of queues, sorted by name.
	Limited []string
	// Offering lists the classes that offer an extended resource in the quota of some queue, sorted by name. A device that matches one
	// counts for the resource.
	Offering []string
	// Cards says that some queue limits cards. Then classes that name a card count as well.
	Cards bool
}

// matching is a Matching in use. With the zero value, a device counts only for the class in the claim.
type matching struct {
	Matching
	catalog *dra.Catalog
	// limited holds the classes of Limited. offering holds the classes of Limited and Offering.
	limited, offering map[string]bool
}

// use applies a Matching. It reports whether devices may count for other classes than before. It interns dimensions,
// because several goroutines count concurrently later.
func (m *matching) use(next Matching, catalog *dra.Catalog, dimensions *ledger.Dimensions) bool {
	same := next.Matcher == m.Matcher && next.Cards == m.Cards && slices.Equal(next.Limited, m.Limited) && slices.Equal(next.Offering, m.Offering)
	if next.Matcher == nil || same && catalog == m.catalog {
		*m = matching{Matching: next, catalog: catalog, limited: m.limited, offering: m.offering}
		return !same
	}
	*m = matching{Matching: next, catalog: catalog, limited: make(map[string]bool, len(next.Limited)), offering: map[string]bool{}}
	classes := slices.Concat(next.Limited, next.Offering)
	for _, class := range classes {
		m.offering[class] = true
	}
	for _, class := range next.Limited {
		m.limited[class] = true
		dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: class})
	}
	if next.Cards {
		for class, card := range catalog.Cards {
			classes = append(classes, class)
			dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: card})
		}
	}
	slices.Sort(classes)
	classes = slices.Compact(classes)
	return next.Matcher.Use(catalog, classes) || !same
}

// depends reports whether devices in the usage may also count for other classes.
func (m *matching) depends(usage *dra.Usage) bool {
	if m.Matcher == nil {
		return false
	}
	for class := range usage.Classes {
		if m.Matcher.Others(class) {
			return true
		}
	}
	return false
}

// others returns the classes that an allocated device counts for, besides the class in the claim. An unlisted device
// that was not counted while it was listed counts only for the class in the claim.
func (m *matching) others(d *dra.Devices) []string {
	if m.Matcher == nil || d.Published == nil {
		return nil
	}
	return slices.DeleteFunc(m.Matcher.Matching(d.ID, d.Published), func(class string) bool { return class == d.Class })
}

// Match sets the Matching for the next round.
func (cs *Claims) Match(by Matching) { cs.next = by }

// Matches reports whether devices count for each limited class that they match.
func (cs *Claims) Matches() bool { return cs.matching.Matcher != nil }

// Unlisted returns the class of an allocated or picked device that counts for no listed class. It is empty if there is
// none. Requests without picked devices do not count, because their classes are unknown.
func (cs *Claims) Unlisted(usage *dra.Usage, listed func(class string) bool) string {
	for i := range usage.Devices {
		d := &usage.Devices[i]
		if d.ID != (dra.DeviceID{}) && !listed(d.Class) && !slices.ContainsFunc(cs.matching.others(d), listed) {
			return d.Class
		}
	}
	return ""
}
