// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"slices"
	"testing"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// TestStandingsDifferIfAChangeMayDecide checks that standings differ if a change may decide whether a demand fits.
func TestStandingsDifferIfAChangeMayDecide(t *testing.T) {
	var dimensions ledger.Dimensions
	h100 := dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: "h100"})
	a100 := dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: "a100"})
	cpu := dimensions.Ordinal(ledger.Dimension{Kind: ledger.Resource, Name: "cpu"})
	units := func(o ledger.Ordinal, n int64) ledger.Amounts {
		return ledger.Amounts{{Dimension: o, Amount: ledger.Units(n)}}
	}
	type state struct {
		root, q, sibling ledger.QueueSpec
		used             map[string]ledger.Amounts
		held             ledger.Amounts
	}
	standings := func(change func(*state)) []ledger.Standing {
		s := state{
			root: ledger.QueueSpec{Name: "root", Capability: units(h100, 8)}, q: ledger.QueueSpec{Name: "q", Parent: "root", Capability: units(cpu, 8)},
			sibling: ledger.QueueSpec{Name: "sibling", Parent: "root"}, used: map[string]ledger.Amounts{},
		}
		change(&s)
		l, _ := ledger.New(&dimensions, nil, []ledger.QueueSpec{s.root, s.q, s.sibling})
		for name, used := range s.used {
			id, _ := l.Queue(name)
			if err := l.Charge(id, ledger.Holder(name), ledger.Demand{ledger.NewPart(used)}); err != nil {
				t.Fatal(err)
			}
		}
		q, _ := l.Queue("q")
		if err := l.Retain(q, "leaving", ledger.NewPart(s.held)); err != nil {
			t.Fatal(err)
		}
		return l.Held().Standings(q, ledger.DeviceCount)
	}
	for _, c := range []struct {
		name    string
		change  func(*state)
		differs bool
	}{
		{name: "nothing", change: func(*state) {}},
		{name: "the queue uses a device", differs: true, change: func(s *state) { s.used["q"] = units(h100, 1) }},
		{name: "a releasing pod has one", differs: true, change: func(s *state) { s.held = units(h100, 1) }},
		{name: "a sibling uses one", differs: true, change: func(s *state) { s.used["sibling"] = units(h100, 1) }},
		{name: "a sibling is guaranteed one", differs: true, change: func(s *state) { s.sibling.Guarantee = units(h100, 1) }},
		{name: "the capability of the root is higher", differs: true, change: func(s *state) { s.root.Capability = units(h100, 9) }},
		{name: "the queue gets the same capability", differs: true, change: func(s *state) { s.q.Capability = units(h100, 8) }},
		{name: "the queue gets a capability for another class", differs: true, change: func(s *state) { s.q.Capability = units(a100, 8) }},
		{name: "only listed classes may be used", differs: true, change: func(s *state) { s.root.DeviceQuotaRequired = true }},
		{name: "the queue uses a device that nobody limits", change: func(s *state) { s.used["q"] = units(a100, 1) }},
		{name: "another kind of dimension", change: func(s *state) { s.used["q"], s.q.Capability = units(cpu, 1), units(cpu, 9) }},
	} {
		before, now := standings(func(*state) {}), standings(c.change)
		if differs := !slices.Equal(before, now); differs != c.differs {
			t.Errorf("%s: %v, which differs from %v: %t, want %t", c.name, now, before, differs, c.differs)
		}
	}
}
