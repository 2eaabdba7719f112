// SPDX-License-Identifier: Apache-2.0

package ledger

import "testing"

// TestListsOfCards checks that the nearest list decides which cards are usable, and that every list bounds their number.
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
		{"heir", a, 5, "Queue <ml> has insufficient <A> quota: requested <5>, total would be <5>, but capability is <4>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{"heir", b, 1, "Queue <heir> has insufficient <B> quota: requested <1>, total would be <1>, but capability is <0>"},
		{"heir", late, 1, "Queue <heir> has insufficient <C> quota: requested <1>, total would be <1>, but capability is <0>"},
		{"own", b, 2, ""},
		{"own", b, 3, "Queue <own> has insufficient <B> quota: requested <3>, total would be <3>, but capability is <2>; this does not fit even when the queue is empty: ask for less, or for more quota"},
		{"own", a, 5, "Queue <ml> has insufficient <A> quota: requested <5>, total would be <5>, but capability is <4>; this does not fit even when the queue is empty: ask for less, or for more quota"},
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

// TestCardsAreElastic checks guarantees and targets of cards together with lists of cards.
func TestCardsAreElastic(t *testing.T) {
	var dimensions Dimensions
	card := func(name string) Ordinal { return dimensions.Ordinal(Dimension{Kind: Card, Name: name}) }
	a, b := card("A"), card("B")
	of := func(o Ordinal, n int64) Amounts { return Amounts{{o, Units(n)}} }
	organization := QueueSpec{Name: "organization", ListsCards: true, Capability: of(a, 8)}
	for _, c := range []struct {
		name string
		// team is below the organization, beside the queue "other".
		team     QueueSpec
		root     QueueSpec
		deserved string
		// left is the number of cards that the other queue can have.
		left, leftOfB string
		uncovered     string
	}{
		{name: "neither", left: "8", leftOfB: "0"},
		{name: "a guarantee below the list of the parent", team: QueueSpec{Guarantee: of(a, 5)}, deserved: "5", left: "3", leftOfB: "0"},
		{name: "a guarantee beside a list of its own", team: QueueSpec{ListsCards: true, Capability: of(a, 6), Guarantee: of(a, 5)}, deserved: "5", left: "3", leftOfB: "0"},
		{name: "a guarantee above a list of its own", team: QueueSpec{ListsCards: true, Capability: of(a, 2), Guarantee: of(a, 5)}, deserved: "2", left: "6", leftOfB: "0"},
		{name: "a guarantee of a card that its own list lacks", team: QueueSpec{ListsCards: true, Capability: of(b, 2), Guarantee: of(a, 5)}, left: "8", leftOfB: "0"},
		{name: "a guarantee of a card that the list of the parent lacks", team: QueueSpec{Guarantee: of(b, 5)}, left: "8", leftOfB: "0"},
		{name: "a guarantee above the list of the parent", team: QueueSpec{Guarantee: of(a, 9)}, deserved: "9", left: "0", leftOfB: "0", uncovered: "team A 9 of 8"},
		{name: "a target", team: QueueSpec{Deserved: of(a, 5)}, deserved: "5", left: "8", leftOfB: "0"},
		{name: "a target above the list of the parent", team: QueueSpec{Deserved: of(a, 9)}, deserved: "8", left: "8", leftOfB: "0"},
		{name: "a target of a card that the list of the parent lacks", team: QueueSpec{Deserved: of(b, 5)}, left: "8", leftOfB: "0"},
		{name: "a target below a guarantee", team: QueueSpec{Deserved: of(a, 2), Guarantee: of(a, 4)}, deserved: "4", left: "4", leftOfB: "0"},
		{name: "no list at all", root: QueueSpec{Name: "organization"}, team: QueueSpec{Deserved: of(a, 6), Guarantee: of(a, 4)}, deserved: "6", left: "-1", leftOfB: "-1"},
	} {
		if c.root.Name == "" {
			c.root = organization
		}
		c.team.Name, c.team.Parent = "team", "organization"
		l, _ := New(&dimensions, nil, []QueueSpec{c.root, c.team, {Name: "other", Parent: "organization"}})
		team, _ := l.Queue("team")
		other, _ := l.Queue("other")
		deserved := ""
		if d := l.Deserved(team, a); d.Amount.Sign() > 0 {
			deserved = d.Amount.String()
		}
		if deserved != c.deserved || l.DeservesCards(team) != (c.deserved != "") {
			t.Errorf("%s: the team deserves %q, any card: %t, want %q", c.name, deserved, l.DeservesCards(team), c.deserved)
		}
		if left := limitString(l.Limit(other, a)); left != c.left {
			t.Errorf("%s: the other queue can have %s A, want %s", c.name, left, c.left)
		}
		if left := limitString(l.Limit(other, b)); left != c.leftOfB {
			t.Errorf("%s: the other queue can have %s B, want %s", c.name, left, c.leftOfB)
		}
		uncovered := ""
		for _, u := range l.Uncovered() {
			uncovered += l.Name(u.Queue) + " " + u.Dimension.String() + " " + u.Sum.String() + " of " + u.Limit.String()
		}
		if uncovered != c.uncovered {
			t.Errorf("%s: not covered is %q, want %q", c.name, uncovered, c.uncovered)
		}
	}
}

// TestCardsCountInTheShare checks that cards count in the share of a queue.
func TestCardsCountInTheShare(t *testing.T) {
	var dimensions Dimensions
	cpu, a := dimensions.Ordinal(Dimension{Name: "cpu"}), dimensions.Ordinal(Dimension{Kind: Card, Name: "A"})
	l, _ := New(&dimensions, nil, []QueueSpec{
		{Name: "root", ListsCards: true, Capability: Amounts{{a, Units(8)}}},
		{Name: "half", Parent: "root", Deserved: Amounts{{cpu, Units(8)}, {a, Units(4)}}},
		{Name: "quarter", Parent: "root", Deserved: Amounts{{a, Units(4)}}},
		{Name: "nothing", Parent: "root"},
	})
	for name, amounts := range map[string]Amounts{"half": {{cpu, Units(1)}, {a, Units(2)}}, "quarter": {{a, Units(1)}}, "nothing": {{a, Units(1)}}} {
		q, _ := l.Queue(name)
		if err := l.Charge(q, Holder(name), Demand{NewPart(amounts)}); err != nil {
			t.Fatal(err)
		}
	}
	queues := map[string]QueueID{}
	for name, want := range map[string]float64{"half": 0.5, "quarter": 0.25, "nothing": 1} {
		queues[name], _ = l.Queue(name)
		if share := l.Share(queues[name]); share != want {
			t.Errorf("the share of %s is %g, want %g", name, share, want)
		}
	}
	if l.CompareShare(queues["quarter"], queues["half"]) >= 0 || l.CompareShare(queues["half"], queues["nothing"]) >= 0 {
		t.Error("the queue with the smaller share does not come first")
	}
	if !l.MayReclaim(queues["quarter"], Demand{NewPart(Amounts{{a, Units(3)}})}) || l.MayReclaim(queues["quarter"], Demand{NewPart(Amounts{{a, Units(4)}})}) {
		t.Error("a queue may not take back exactly what it deserves")
	}
	if l.MayLose(queues["half"], Amounts{{a, Units(2)}}) || !l.MayLose(queues["nothing"], Amounts{{a, Units(1)}}) {
		t.Error("a queue does not lose exactly what it does not deserve")
	}
}

func text(r *Refusal) string {
	if r == nil {
		return ""
	}
	return r.String()
}
