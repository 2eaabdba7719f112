// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// CompareQueues is negative if queue l comes before queue r. Leaf queues come before other queues. Then the queue with
// the smaller share comes first. Two leaf queues are compared at the level where their branches part: a subtree with a
// small share comes first. It is 0 if the ledger lacks one of the queues.
func (s *Snapshot) CompareQueues(l, r string) int {
	a, b, found := s.pair(l, r)
	if !found {
		return 0
	}
	switch leafA, leafB := s.Ledger.Leaf(a), s.Ledger.Leaf(b); {
	case leafA && !leafB:
		return -1
	case leafB && !leafA:
		return 1
	case leafA && leafB:
		a, b = s.Ledger.Branches(a, b)
	}
	return s.Ledger.CompareShare(a, b)
}

// CompareVictimQueues is negative if queue l shares more ancestors with the preemptor's queue than queue r does. It is
// 0 if the ledger lacks one of the queues.
func (s *Snapshot) CompareVictimQueues(l, r, preemptor string) int {
	own, found := s.Ledger.Queue(preemptor)
	a, b, both := s.pair(l, r)
	if !found || !both {
		return 0
	}
	return cmp.Compare(s.Ledger.CommonDepth(b, own), s.Ledger.CommonDepth(a, own))
}

// pair returns two queues by name. It returns false if the ledger lacks one of them.
func (s *Snapshot) pair(l, r string) (ledger.QueueID, ledger.QueueID, bool) {
	a, foundA := s.Ledger.Queue(l)
	b, foundB := s.Ledger.Queue(r)
	return a, b, foundA && foundB
}
