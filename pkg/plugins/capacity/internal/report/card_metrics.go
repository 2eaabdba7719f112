// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math/big"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/metric"
)

var cardGauges = []dimensionGauge{
	{gaugeVector(metric.QueueCards.Capability), ownLimit},
	{gaugeVector(metric.QueueCards.Deserved), deservedCards},
	{gaugeVector(metric.QueueCards.Guarantee), ownGuarantee},
	{gaugeVector(metric.QueueCards.Allocated), cardBalance(ledger.Allocated)},
	{gaugeVector(metric.QueueCards.Request), cardBalance(ledger.Request)},
	{gaugeVector(metric.QueueCards.Capacity), func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		limit := l.Limit(q, o)
		listed := limit.Amount.Sign() > 0 || limits(l, q, o) || l.Balance(q, ledger.Allocated, o).Sign() > 0
		return limit.Amount, limit.Set && listed // a card that no queue lists is zero everywhere
	}},
}

// deservedCards returns what the queue deserves. If the cards of the queue are not elastic, it returns the limit, as before
// cards could be elastic.
func deservedCards(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
	if deserved, set := ownDeserved(l, q, o); set || l.DeservesCards(q) {
		return deserved, set
	}
	return ownLimit(l, q, o)
}

// cardBalance has a series if the amount is not zero, or the queue lists the card.
func cardBalance(account ledger.Account) amountOf {
	return func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		amount := l.Balance(q, account, o)
		return amount, amount.Sign() != 0 || limits(l, q, o)
	}
}

var clusterCards = gaugeVector(metric.ClusterCards)

// cardTotals are the published values of the metric by card.
type cardTotals map[string]*big.Int

// CardTotals updates the metric for cards whose number has changed, or that are gone.
func (r *Reporter) CardTotals(fleet *card.Fleet) {
	there := map[string]bool{}
	for name, total := range fleet.Totals {
		there[name] = true
		if last := r.cards[name]; last != nil && last.Cmp(total) == 0 {
			continue
		}
		r.cards[name] = new(big.Int).Set(total)
		value, _ := new(big.Float).SetInt(total).Float64()
		clusterCards.WithLabelValues(name).Set(value)
	}
	for name := range r.cards {
		if !there[name] {
			delete(r.cards, name)
			clusterCards.DeleteLabelValues(name)
		}
	}
}
