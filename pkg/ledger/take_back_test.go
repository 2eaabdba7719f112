// SPDX-License-Identifier: Apache-2.0

package ledger

import "testing"

// level holds the amounts of one dimension for a queue: deserved, guarantee, capability and used. -1 means not listed.
type level struct {
	name, parent                         string
	deserved, guarantee, capability, has int64
}

func takeBackTree(t *testing.T, levels []level) (*Ledger, Ordinal) {
	t.Helper()
	dimensions := &Dimensions{}
	o := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "h100"})
	amounts := func(units int64) Amounts {
		if units < 0 {
			return nil
		}
		return Amounts{{Dimension: o, Amount: Units(units)}}
	}
	var specs []QueueSpec
	for _, l := range levels {
		specs = append(specs, QueueSpec{Name: l.name, Parent: l.parent, Deserved: amounts(l.deserved), Guarantee: amounts(l.guarantee), Capability: amounts(l.capability)})
	}
	books, aside := New(dimensions, nil, specs)
	if len(aside) > 0 {
		t.Fatal(aside)
	}
	for _, l := range levels {
		if l.has > 0 {
			if err := books.Charge(books.ids[l.name], Holder(l.name), Demand{NewPart(amounts(l.has))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return books, o
}

func TestTakingBack(t *testing.T) {
	flat := []level{{"root", "", -1, -1, -1, 0}, {"a", "root", 2, -1, -1, 0}, {"b", "root", 2, -1, -1, 4}}
	nested := []level{
		{"root", "", -1, -1, -1, 0}, {"org", "root", 4, -1, -1, 0}, {"team", "org", 2, -1, -1, 0}, {"mate", "org", 2, -1, -1, 2},
		{"other", "root", 4, -1, -1, 6},
	}
	neutral := []level{{"root", "", -1, -1, -1, 0}, {"org", "root", 4, -1, -1, 0}, {"team", "org", -1, -1, -1, 0}, {"other", "root", 4, -1, -1, 8}}
	for _, c := range []struct {
		name     string
		levels   []level
		q, from  string
		amount   int64
		may      bool
		mayLose  int64
		keepsAll bool
	}{
		{"up to what the queue deserves", flat, "a", "b", 2, true, 2, true},
		{"not more", flat, "a", "b", 3, false, 2, true},
		{"the other one keeps what it deserves", flat, "a", "b", 1, true, 3, false},
		{"a queue that has more than it deserves takes nothing back", flat, "b", "a", 1, false, 0, false},
		{"every ancestor below the common one is within its target", nested, "team", "other", 2, true, 2, true},
		{"beyond the target of the queue although the ancestor has room", nested, "team", "other", 3, false, 2, true},
		{"within one branch, the ancestors above do not count", nested, "team", "mate", 2, true, 0, true},
		{"a level at which nobody deserves anything has no say", neutral, "team", "other", 4, true, 4, true},
		{
			"a queue that lists nothing deserves nothing if a sibling lists something",
			[]level{{"root", "", -1, -1, -1, 0}, {"a", "root", 2, -1, -1, 0}, {"b", "root", -1, -1, -1, 4}}, "a", "b", 2, true, 4, true,
		},
		{
			"but it keeps its guarantee",
			[]level{{"root", "", -1, -1, -1, 0}, {"a", "root", 2, -1, -1, 0}, {"b", "root", -1, 3, -1, 4}}, "a", "b", 2, true, 2, false,
		},
		{
			"a guarantee is deserved at least",
			[]level{{"root", "", -1, -1, -1, 0}, {"a", "root", 1, 2, -1, 0}, {"b", "root", 1, -1, -1, 4}}, "a", "b", 2, true, 3, true,
		},
		{
			"if nobody deserves anything, nobody takes anything back",
			[]level{{"root", "", -1, -1, -1, 0}, {"a", "root", -1, -1, -1, 0}, {"b", "root", -1, -1, -1, 4}}, "a", "b", 1, false, 4, true,
		},
		{"nobody takes back from an ancestor", nested, "team", "org", 1, false, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			books, o := takeBackTree(t, c.levels)
			q, from := books.ids[c.q], books.ids[c.from]
			if got := books.MayTakeBack(q, from, o, Units(c.amount)); got != c.may {
				t.Errorf("may take back %d: %t", c.amount, got)
			}
			if c.q == "team" && c.from == "org" {
				return
			}
			view := books.View()
			view.shift(from, charged, Amounts{{Dimension: o, Amount: Units(c.mayLose)}}, true)
			keeps := view.KeepsTarget(from, q, o) && view.KeepsGuarantees(from, q, Amounts{{Dimension: o, Amount: Units(1)}})
			if keeps != c.keepsAll {
				t.Errorf("after a loss of %d, the queue has what it deserves: %t", c.mayLose, keeps)
			}
		})
	}
}

// TestWhoMayBeEvicted uses two queues that share cpu and a card. The victim frees 4 of each needed dimension that it has.
func TestWhoMayBeEvicted(t *testing.T) {
	cpu, card := Dimension{Kind: Resource, Name: "cpu"}, Dimension{Kind: Card, Name: "A100"}
	for _, c := range []struct {
		name string
		// a and b are the deserved amounts of the two queues. has is the amount of b without the victim. guarantee is b's
		// guarantee of the card.
		a, b, has map[Dimension]int64
		guarantee int64
		may       bool
	}{
		{name: "a card that the queue deserves", a: map[Dimension]int64{card: 4}, has: map[Dimension]int64{card: 2}, may: true},
		{name: "not a card that nobody deserves", has: map[Dimension]int64{card: 2}},
		{name: "not what the other one deserves", a: map[Dimension]int64{card: 4}, b: map[Dimension]int64{card: 3}, has: map[Dimension]int64{card: 2}},
		{name: "not what the other one is guaranteed", a: map[Dimension]int64{card: 4}, has: map[Dimension]int64{card: 2}, guarantee: 3},
		{name: "cpu goes along with a card", a: map[Dimension]int64{card: 4, cpu: 1}, has: map[Dimension]int64{card: 2, cpu: 2}, may: true},
		{name: "not cpu that the other one deserves", a: map[Dimension]int64{card: 4}, b: map[Dimension]int64{cpu: 6}, has: map[Dimension]int64{card: 2, cpu: 2}},
		{name: "but if both deserve it", a: map[Dimension]int64{card: 4, cpu: 4}, b: map[Dimension]int64{cpu: 6}, has: map[Dimension]int64{card: 2, cpu: 2}, may: true},
		{name: "a card does not go along with cpu", a: map[Dimension]int64{card: 1, cpu: 4}, has: map[Dimension]int64{card: 2, cpu: 2}},
		{name: "a card that nobody deserves does", a: map[Dimension]int64{cpu: 4}, has: map[Dimension]int64{card: 2, cpu: 2}, may: true},
		{name: "cpu alone, if the other one keeps what it deserves", a: map[Dimension]int64{cpu: 4}, b: map[Dimension]int64{cpu: 3}, has: map[Dimension]int64{cpu: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dimensions := &Dimensions{}
			amounts := func(units map[Dimension]int64) (as Amounts) {
				for _, d := range []Dimension{cpu, card} {
					if n, listed := units[d]; listed {
						as = append(as, Entry{Dimension: dimensions.Ordinal(d), Amount: Units(n)})
					}
				}
				return as
			}
			frees := map[Dimension]int64{}
			for d := range c.has {
				frees[d] = 4
			}
			books, _ := New(dimensions, nil, []QueueSpec{
				{Name: "root"}, {Name: "a", Parent: "root", Deserved: amounts(c.a)},
				{Name: "b", Parent: "root", Deserved: amounts(c.b), Guarantee: amounts(map[Dimension]int64{card: c.guarantee})},
			})
			if err := books.Charge(books.ids["b"], "others", Demand{NewPart(amounts(c.has))}); err != nil {
				t.Fatal(err)
			}
			if may := books.MayEvict(books.ids["a"], amounts(frees), amounts(frees), books.ids["b"]); may != c.may {
				t.Errorf("may evict: %t", may)
			}
		})
	}
}
