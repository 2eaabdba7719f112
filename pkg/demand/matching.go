// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Matching says for which classes a device counts besides the class that a claim asked for.
type Matching struct {
	// Matcher finds the classes that a device matches. It is nil if a device counts only for the class that a claim
	// asked for.
	Matcher *dra.Matcher
	// Limited are the classes that the quota of some queue lists, sorted by name.
	Limited []string
	// Offering are the classes that offer an extended resource which the quota of some queue lists, sorted by name. A device that matches
	// one counts for the resource.
	Offering []string
	// Cards says that some queue limits cards, so that classes that name a card count as well.
	Cards bool
}

// matching is a Matching that is in force. The zero value is that of a device that counts only for the class that a claim
// asked for.
type matching struct {
	Matching
	catalog *dra.Catalog
	// limited has the classes of Limited, offering those of Limited and Offering.
	limited, offering map[string]bool
}

// use puts a Matching in force, and reports whether devices may count for other classes than before. Dimensions are
// interned here, because several goroutines count at the same time.
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

// depends reports whether devices of a class may count for other classes, too.
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

// others returns the classes that an allocated device counts for besides the one that was asked for. A device that no
// slice lists, and that was not counted when one did, counts only for the class that was asked for.
func (m *matching) others(d *dra.Devices) []string {
	if m.Matcher == nil || d.Published == nil {
		return nil
	}
	return slices.DeleteFunc(m.Matcher.Matching(d.ID, d.Published), func(class string) bool { return class == d.Class })
}

// Match sets what the next round counts by.
func (cs *Claims) Match(by Matching) { cs.next = by }

// Matches reports whether a device counts for each limited class that it matches.
func (cs *Claims) Matches() bool { return cs.matching.Matcher != nil }

// Unlisted returns a class for which a claim asks or has a device that counts for no listed class. It is empty if there
// is none. Before devices are known, nobody knows what they count for.
func (cs *Claims) Unlisted(usage *dra.Usage, listed func(class string) bool) string {
	for i := range usage.Devices {
		d := &usage.Devices[i]
		if d.ID != (dra.DeviceID{}) && !listed(d.Class) && !slices.ContainsFunc(cs.matching.others(d), listed) {
			return d.Class
		}
	}
	return ""
}
