// Package capacity is the Volcano scheduler plugin that is registered under the name
// capacity in place of upstream's, and under the name capacity-card.
//
// It translates: a session's queues, jobs and pods become limits, demands
// and charges of one ledger (built anew for every session), and the ledger's answers become
// Volcano's. Extension points are in files that are named after them, those that belong
// together in one; what outlives a session is in process.go.
//
// Of cards that device plugins hand out it sees to it that pods run on nodes whose card the quota
// allows (card_predicate.go), and that they are charged for that card (pod_cards.go).
//
// And it hands out devices of DRA, because the quota must hold for just those that are picked: attempt.go
// looks for them on nodes, reserve.go takes them, bind.go has them written (see package allocation).
package capacity
