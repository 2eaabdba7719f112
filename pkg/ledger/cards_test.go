// SPDX-License-Identifier: Apache-2.0

package ledger

import "testing"

// TestListsOfCards checks that the nearest list decides which cards may be used, and every list how
// many.
func TestListsOfCards(t *testing.T) {
	var dimensions Dimensions
	card := func(name string) Ordinal { return dimensions.Ordinal(Dimension{Kind: Card, Name: name}) }
	a, b := card("A"), card("B")
	l, _ := New(&dimensions, nil, []QueueSpec{
		{Name: "root"},
		{Name: "ml", Parent: "root", ListsCards: true, Capability: Amounts{{a, Units(4)}}},
		{Name: "heir", Parent: "ml"},
		{Name: "own", Parent: "ml", ListsCards: true, Capability: Amounts{{a, Units(8)}, {b, Units(2)}}},
		{Name: "nothing", Parent: "root", ListsCards: true},
		{Name: "free", Parent: "root"},
	})
	late := card("C")
	for _, c := range []struct {
		queue string
		card  Ordinal
		asked int64
		want  string
	}{
		{"heir", a, 4, ""},
		{"heir", a, 5, "Queue <ml> has insufficient <A> quota: requested <5>, total would be <5>, but capability is <4>"},
		{"heir", b, 1, "Queue <heir> has insufficient <B> quota: requested <1>, total would be <1>, but capability is <0>"},
		{"heir", late, 1, "Queue <heir> has insufficient <C> quota: requested <1>, total would be <1>, but capability is <0>"},
		{"own", b, 2, ""},
		{"own", b, 3, "Queue <own> has insufficient <B> quota: requested <3>, total would be <3>, but capability is <2>"},
		{"own", a, 5, "Queue <ml> has insufficient <A> quota: requested <5>, total would be <5>, but capability is <4>"},
		{"own", late, 1, "Queue <own> has insufficient <C> quota: requested <1>, total would be <1>, but capability is <0>"},
		{"nothing", a, 1, "Queue <nothing> has insufficient <A> quota: requested <1>, total would be <1>, but capability is <0>"},
		{"free", a, 100, ""},
		{"free", late, 100, ""},
	} {
		q, _ := l.Queue(c.queue)
		asked := Amounts{{c.card, Units(c.asked)}}
		refusal, err := l.Fits(q, Demand{NewPart(asked)})
		if got := text(refusal); err != nil || got != c.want {
			t.Errorf("%d of %s in %s: %q (%v), want %q", c.asked, dimensions.Dimension(c.card), c.queue, got, err, c.want)
		}
		refusal, err = l.FitsInqueue(q, asked)
		if got := text(refusal); err != nil || got != c.want {
			t.Errorf("a job for %d of %s in %s: %q (%v), want %q", c.asked, dimensions.Dimension(c.card), c.queue, got, err, c.want)
		}
	}
}

func text(r *Refusal) string {
	if r == nil {
		return ""
	}
	return r.String()
}
