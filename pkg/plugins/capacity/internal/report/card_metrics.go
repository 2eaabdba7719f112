// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math/big"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/ledger"
)

var cardGauges = []dimensionGauge{
	{cardVector("capability", "Cards that the queue may hold at most by its own card quota"), ownLimit},
	{cardVector("deserved", "Cards that the queue is owed: up to this it may take back what others have borrowed. If the queue is owed no cards, what its own card quota lists"), deservedCards},
	{cardVector("guarantee", "Cards that are kept free for the queue, used or not"), ownGuarantee},
	{cardVector("allocated", "Cards that pods of the queue and of the queues below it hold"), cardBalance(ledger.Allocated)},
	{cardVector("request", "Cards that pods hold or wait for, and that jobs without pods wait for"), cardBalance(ledger.Request)},
	{cardVector("capacity", "Cards that the queue can hold at most, given its own card quota, those of the queues above it, and the guarantees of others"), func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		limit := l.Limit(q, o)
		listed := limit.Amount.Sign() > 0 || limits(l, q, o) || l.Balance(q, ledger.Allocated, o).Sign() > 0
		return limit.Amount, limit.Set && listed // a card that no queue lists is zero everywhere
	}},
}

func cardVector(name, help string) *prometheus.GaugeVec {
	return promauto.NewGaugeVec(prometheus.GaugeOpts{Name: "volcano_queue_card_" + name, Help: help + ", by card"}, []string{"queue", "card"})
}

// deservedCards is what the queue deserves. A queue whose cards are not elastic has its limit there, as such queues had before
// cards could be.
func deservedCards(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
	if deserved, set := ownDeserved(l, q, o); set || l.DeservesCards(q) {
		return deserved, set
	}
	return ownLimit(l, q, o)
}

// cardBalance has a series if the amount is not zero or if the queue lists the card.
func cardBalance(account ledger.Account) amountOf {
	return func(l *ledger.Ledger, q ledger.QueueID, o ledger.Ordinal) (ledger.Amount, bool) {
		amount := l.Balance(q, account, o)
		return amount, amount.Sign() != 0 || limits(l, q, o)
	}
}

var clusterCards = promauto.NewGaugeVec(prometheus.GaugeOpts{
	Name: "volcano_cluster_cards",
	Help: "Cards that the nodes of the cluster offer, by card",
}, []string{"card"})

// cardTotals is what the metric says of each card.
type cardTotals map[string]*big.Int

// CardTotals updates the metric for cards whose number has changed or that are gone.
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
