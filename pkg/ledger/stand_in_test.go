// SPDX-License-Identifier: Apache-2.0

package ledger

import "testing"

// TestAQueueKeepsRoomForASharedPartOnce: two pods of a queue wait for a claim that they share, and a pod of another queue waits for it, too.
func TestAQueueKeepsRoomForASharedPartOnce(t *testing.T) {
	var dimensions Dimensions
	device := dimensions.Ordinal(Dimension{Kind: DeviceCount, Name: "h100"})
	claim := NewPart(Amounts{{device, Units(2)}})
	for range 2 { // the second ledger forgets the stand-ins in the first
		base, _ := New(&dimensions, nil, []QueueSpec{{Name: "root"}, {Name: "a", Parent: "root"}, {Name: "b", Parent: "root"}})
		a, _ := base.Queue("a")
		b, _ := base.Queue("b")
		for _, l := range []*Ledger{base.View(), base} { // the view keeps its changes to itself
			expect := func(when string, inA, inB, root int64, paidInA, paidInB bool) {
				t.Helper()
				for id, want := range map[QueueID]int64{a: inA, b: inB, 0: root} {
					if got := l.Balance(id, Pipelined, device); got != Units(want) {
						t.Errorf("%s: queue %s keeps room for %s devices, want %d", when, l.Name(id), got, want)
					}
				}
				if gotA, gotB := l.PaidFor(a, claim), l.PaidFor(b, claim); gotA != paidInA || gotB != paidInB {
					t.Errorf("%s: paid for in a: %t, in b: %t", when, gotA, gotB)
				}
			}
			expect("at first", 0, 0, 0, false, false)
			standIn := map[Holder]Demand{}
			wait := func(q QueueID, pod Holder) {
				t.Helper()
				standIn[pod] = Demand{l.StandIn(q, claim)}
				if err := l.Pipeline(q, pod, standIn[pod]); err != nil {
					t.Fatal(err)
				}
			}
			leave := func(pod Holder) {
				t.Helper()
				if err := l.ReleaseHeld(pod, standIn[pod]); err != nil {
					t.Fatal(err)
				}
			}
			wait(a, "first")
			expect("one waits", 2, 0, 2, true, false)
			wait(a, "second")
			expect("two wait", 2, 0, 2, true, false)
			wait(b, "other")
			expect("another queue waits", 2, 2, 4, true, true)
			leave("first")
			expect("one has left", 2, 2, 4, true, true)
			leave("second")
			expect("two have left", 0, 2, 2, false, true)
			wait(a, "first")
			expect("one is back", 2, 2, 4, true, true)
			if err := l.Charge(a, "third", Demand{claim}); err != nil {
				t.Fatal(err)
			}
			leave("first")
			leave("other")
			expect("charged", 0, 0, 0, true, true)
		}
	}
}
