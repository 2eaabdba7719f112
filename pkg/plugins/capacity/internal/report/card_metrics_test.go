// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

func TestSeriesOfCardsThatAQueueIsOwed(t *testing.T) {
	f := newFixture(t)
	f.queue("elastic")
	counter := demand.NewCounter(&card.Fleet{}, func(corev1.ResourceName) bool { return false })
	a := counter.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "A"})
	b := counter.Dimensions.Ordinal(ledger.Dimension{Kind: ledger.Card, Name: "B"})
	of := func(o ledger.Ordinal, n int64) ledger.Amounts {
		return ledger.Amounts{{Dimension: o, Amount: ledger.Units(n)}}
	}
	both := ledger.Amounts{{Dimension: a, Amount: ledger.Units(8)}, {Dimension: b, Amount: ledger.Units(4)}}
	for _, session := range []struct {
		name string
		spec ledger.QueueSpec
		want string
	}{
		{
			"a limit only", ledger.QueueSpec{Capability: both},
			"card_allocated A 0\ncard_allocated B 0\ncard_capability A 8\ncard_capability B 4\ncard_capacity A 8\ncard_capacity B 4\ncard_deserved A 8\ncard_deserved B 4\ncard_request A 0\ncard_request B 0",
		},
		{
			"one card is deserved, the other is not", ledger.QueueSpec{Capability: both, Deserved: of(a, 6), Guarantee: of(a, 2)},
			"card_allocated A 0\ncard_allocated B 0\ncard_capability A 8\ncard_capability B 4\ncard_capacity A 8\ncard_capacity B 4\ncard_deserved A 6\ncard_guarantee A 2\ncard_request A 0\ncard_request B 0",
		},
		{
			"none is deserved", ledger.QueueSpec{Capability: of(a, 8), Deserved: of(a, 0)},
			"card_allocated A 0\ncard_capability A 8\ncard_capacity A 8\ncard_deserved A 0\ncard_request A 0",
		},
		{"no limit", ledger.QueueSpec{Guarantee: of(a, 2)}, "card_allocated A 0\ncard_deserved A 2\ncard_guarantee A 2\ncard_request A 0"},
	} {
		session.spec.Name = "elastic"
		accounts := f.accounts(counter, "elastic", nil, nil)
		accounts.Ledger, _ = ledger.New(counter.Dimensions, nil, []ledger.QueueSpec{session.spec})
		accounts.Held = accounts.Ledger
		f.Metrics(accounts)
		if got := sorted(ofQueue(t, "elastic")); got != session.want {
			t.Errorf("%s: the series are\n%s\nwant\n%s", session.name, got, session.want)
		}
	}
}
