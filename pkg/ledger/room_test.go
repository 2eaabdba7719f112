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
