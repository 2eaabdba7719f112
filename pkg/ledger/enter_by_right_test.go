// SPDX-License-Identifier: Apache-2.0

package ledger

import "testing"

func TestEnteringByRight(t *testing.T) {
	full := []level{{"root", "", -1, -1, 4, 0}, {"a", "root", 2, -1, 3, 0}, {"b", "root", 2, -1, -1, 4}}
	within := func(deserved int64) []level {
		return []level{{"root", "", -1, -1, 4, 0}, {"left", "root", -1, -1, 3, 0}, {"a", "left", 1, -1, -1, 0}, {"b", "left", deserved, -1, -1, 2}, {"right", "root", -1, -1, -1, 2}}
	}
	for _, c := range []struct {
		name         string
		levels       []level
		needs, spare int64
		want         bool
	}{
		{"an ancestor is full, and the queue deserves what the job needs", full, 2, 0, true},
		{"the queue deserves less", full, 3, 0, false},
		{"the queue itself has no room", full, 4, 0, false},
		{"jobs of lower priority make room in the queue", []level{{"root", "", -1, -1, 4, 0}, {"a", "root", -1, -1, 2, 2}}, 1, 1, true},
		{"they do not make enough room", []level{{"root", "", -1, -1, 4, 0}, {"a", "root", -1, -1, 2, 2}}, 2, 1, false},
		{
			"what is taken from a sibling does not make the ancestors hold more",
			[]level{{"root", "", -1, -1, 4, 0}, {"left", "root", 2, -1, 2, 0}, {"a", "left", 1, -1, -1, 0}, {"b", "left", 1, -1, -1, 2}, {"right", "root", 2, -1, -1, 2}},
			1, 0, true,
		},
		{
			"a part is taken from a sibling, and a part from the parent's sibling",
			[]level{{"root", "", -1, -1, 4, 0}, {"left", "root", 3, -1, 3, 0}, {"a", "left", 2, -1, -1, 0}, {"b", "left", 1, -1, -1, 2}, {"right", "root", 1, -1, -1, 2}},
			2, 0, true,
		},
		{
			"the parent would get more than it deserves",
			[]level{{"root", "", -1, -1, 4, 0}, {"left", "root", 2, -1, 3, 0}, {"a", "left", 2, -1, -1, 0}, {"b", "left", 1, -1, -1, 2}, {"right", "root", 2, -1, -1, 2}},
			2, 0, false,
		},
		{"a sibling has what is missing above the parent, which deserves nothing", within(1), 1, 0, true},
		{"no sibling has more than it deserves", within(2), 1, 0, false},
		{"nobody deserves anything", []level{{"root", "", -1, -1, 4, 0}, {"a", "root", -1, -1, -1, 0}, {"b", "root", -1, -1, -1, 4}}, 1, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			books, o := takeBackTree(t, c.levels)
			needs, spare := Amounts{{Dimension: o, Amount: Units(c.needs)}}, Amounts{{Dimension: o, Amount: Units(c.spare)}}
			if got := books.WhyNoRight(books.ids["a"], needs, Takings{Spare: spare, Back: true}) == nil; got != c.want {
				t.Errorf("the job enters: %t", got)
			}
		})
	}
	t.Run("resources need no target if the queue deserves the devices", func(t *testing.T) {
		dimensions := &Dimensions{}
		gpu, cpu := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "h100"}), dimensions.Ordinal(Dimension{Kind: Resource, Name: "cpu"})
		both := func(units int64) Amounts {
			return Amounts{{Dimension: gpu, Amount: Units(units)}, {Dimension: cpu, Amount: Units(units)}}
		}
		books, _ := New(dimensions, nil, []QueueSpec{
			{Name: "root", Capability: both(4)}, {Name: "a", Parent: "root", Deserved: both(2)[:1]}, {Name: "b", Parent: "root", Deserved: both(2)[:1]},
		})
		if err := books.Charge(books.ids["b"], "b", Demand{NewPart(both(4))}); err != nil {
			t.Fatal(err)
		}
		for units, want := range map[int64]bool{2: true, 3: false} {
			if got := books.WhyNoRight(books.ids["a"], both(units), Takings{Back: true}) == nil; got != want {
				t.Errorf("a job with %d devices and cores enters: %t", units, got)
			}
		}
		if books.WhyNoRight(books.ids["a"], both(1)[1:], Takings{Back: true}) == nil {
			t.Error("a job without devices takes back resources that nobody deserves")
		}
	})
	t.Run("what a queue deserves gives no right if queues cannot take back", func(t *testing.T) {
		books, o := takeBackTree(t, full)
		needs := Amounts{{Dimension: o, Amount: Units(2)}}
		for _, spare := range []int64{0, 1} {
			no := books.WhyNoRight(books.ids["a"], needs, Takings{Spare: Amounts{{Dimension: o, Amount: Units(spare)}}})
			if no == nil || no.Full != books.ids["root"] {
				t.Errorf("with %d of other jobs: %+v, want a right that is missing in root", spare, no)
			}
		}
	})
	t.Run("what other jobs still need counts", func(t *testing.T) {
		books, o := takeBackTree(t, full)
		if err := books.Add(books.ids["a"], Inqueue, Amounts{{Dimension: o, Amount: Units(1)}}); err != nil {
			t.Fatal(err)
		}
		if books.WhyNoRight(books.ids["a"], Amounts{{Dimension: o, Amount: Units(2)}}, Takings{Back: true}) == nil {
			t.Error("the jobs that have entered would need more than the queue deserves")
		}
	})
}

func TestARightThatIsMissingIsNamed(t *testing.T) {
	full := []level{{"root", "", -1, -1, 4, 0}, {"a", "root", 2, -1, 3, 0}, {"b", "root", 2, -1, -1, 4}}
	unset := []level{{"root", "", -1, -1, 4, 0}, {"a", "root", -1, -1, -1, 0}, {"b", "root", -1, -1, -1, 4}}
	narrow := []level{
		{"root", "", -1, -1, 4, 0}, {"left", "root", 2, -1, 3, 0}, {"a", "left", 2, -1, -1, 0}, {"b", "left", 1, -1, -1, 2}, {"right", "root", 2, -1, -1, 2},
	}
	for _, c := range []struct {
		name        string
		levels      []level
		needs       int64
		full, taker string
		target      int64
		wouldBe     int64
	}{
		{"the queue itself is full", full, 4, "a", "a", -1, 0},
		{"the queue would have more than it deserves", full, 3, "root", "a", 2, 3},
		{"the queue deserves nothing", unset, 1, "root", "a", -1, 1},
		{"the parent would have more than it deserves", narrow, 2, "root", "left", 2, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			books, o := takeBackTree(t, c.levels)
			no := books.WhyNoRight(books.ids["a"], Amounts{{Dimension: o, Amount: Units(c.needs)}}, Takings{Back: true})
			if no == nil {
				t.Fatal("the job enters")
			}
			want := NoRight{Dimension: o, Full: books.ids[c.full], Taker: books.ids[c.taker], WouldBe: Units(c.wouldBe)}
			if c.target >= 0 {
				want.Target = Limit{Set: true, Amount: Units(c.target)}
			}
			if *no != want {
				t.Errorf("got %+v, want %+v", *no, want)
			}
		})
	}
}
