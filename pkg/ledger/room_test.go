// SPDX-License-Identifier: Apache-2.0

package ledger

import "testing"

// TestRoomInqueue compares with a search that tries one number after the other.
func TestRoomInqueue(t *testing.T) {
	var dimensions Dimensions
	a := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "a"})
	b := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "b"})
	l, _ := New(&dimensions, nil, []QueueSpec{
		{Name: "root", Capability: Amounts{{a, Units(20)}}}, {Name: "q", Parent: "root", Capability: Amounts{{a, Units(12)}, {b, Units(9)}}},
	})
	q, _ := l.Queue("q")
	if err := l.Add(q, Inqueue, Amounts{{a, Units(2)}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		minimum, each Amounts
		most, want    int64
	}{
		{nil, Amounts{{a, Units(1)}}, 100, 10},
		{nil, Amounts{{a, Units(3)}}, 100, 3},
		{Amounts{{a, Units(4)}}, Amounts{{a, Units(3)}}, 100, 2},
		{nil, Amounts{{a, Units(1)}, {b, Units(2)}}, 100, 4},
		{nil, Amounts{{a, Units(1)}}, 7, 7},
		{nil, nil, 5, 5},
		{Amounts{{b, Units(10)}}, Amounts{{a, Units(1)}}, 5, 0},
		{nil, Amounts{{a, Units(11)}}, 5, 0},
	} {
		got, err := l.RoomInqueue(q, c.minimum, c.each, c.most)
		tried := int64(0)
		for tried < c.most {
			if refusal, err := l.FitsInqueueTimes(q, c.minimum, c.each, tried+1); err != nil || refusal != nil {
				break
			}
			tried++
		}
		if err != nil || got != c.want || got != tried {
			t.Errorf("%v beside %v: room for %d (%v), want %d, tried %d", c.each, c.minimum, got, err, c.want, tried)
		}
	}
}

// TestAMinimumThatWasRaised checks what a job keeps from other queues if it needs more than its queue can have.
func TestAMinimumThatWasRaised(t *testing.T) {
	type needs map[string]int64
	for _, c := range []struct {
		name   string
		levels []level
		needs  []needs
		want   needs // inqueue
	}{
		{"of a queue with a limit", []level{{"root", "", -1, -1, 8, 0}, {"a", "root", -1, -1, 2, 1}, {"b", "root", -1, -1, -1, 0}}, []needs{{"a": 1000}}, needs{"root": 1, "a": 1000}},
		{"of a queue beside a guarantee", []level{{"root", "", -1, -1, 8, 0}, {"a", "root", -1, -1, -1, 1}, {"b", "root", -1, 4, -1, 0}}, []needs{{"a": 1000}}, needs{"root": 3, "a": 1000}},
		{"of two queues below a limit",
			[]level{{"root", "", -1, -1, 8, 0}, {"team", "root", -1, -1, 4, 0}, {"a", "team", -1, -1, -1, 1}, {"b", "team", -1, -1, -1, 0}},
			[]needs{{"a": 1000}, {"b": 1000}}, needs{"root": 3, "team": 2000, "a": 1000, "b": 1000}},
		{"of a queue that has more than its limit", []level{{"root", "", -1, -1, 8, 0}, {"a", "root", -1, -1, 2, 3}}, []needs{{"a": 2}}, needs{"root": 0, "a": 2}},
		{"of no queue with a limit", []level{{"root", "", -1, -1, -1, 0}, {"a", "root", -1, -1, -1, 0}}, []needs{{"a": 1000}}, needs{"root": 1000, "a": 1000}},
		{"of no job", []level{{"root", "", -1, -1, 8, 0}, {"a", "root", -1, -1, 4, 1}}, []needs{{"a": 2}, {"a": 1}}, needs{"root": 3, "a": 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			books, o := takeBackTree(t, c.levels)
			for _, job := range c.needs {
				for queue, n := range job {
					if err := books.Add(books.ids[queue], Inqueue, Amounts{{o, Units(n)}}); err != nil {
						t.Fatal(err)
					}
				}
			}
			for queue, want := range c.want {
				if got, _ := books.Balance(books.ids[queue], Inqueue, o).Whole(); got != want {
					t.Errorf("%d are kept at %s, want %d", got, queue, want)
				}
			}
		})
	}
}
