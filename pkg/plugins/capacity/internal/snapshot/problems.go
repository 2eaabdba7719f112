// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"maps"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// findProblems adds the problems that only the whole tree shows. Other problems were found while queues and jobs were read.
func (s *Snapshot) findProblems() {
	if s.Hierarchy {
		for name, why := range s.misplaced {
			s.Problems.Misplaced(name, why)
		}
	}
	for _, uncovered := range s.Ledger.Uncovered() {
		s.Problems.GuaranteeNotCovered(s.Ledger.Name(uncovered.Queue), uncovered)
	}
	maps.Copy(s.Problems, s.findMistakes())
}

// Misplaced calls yield for each queue that has no place in the hierarchy.
func (s *Snapshot) Misplaced(yield func(api.QueueID) bool) {
	for name := range s.misplaced {
		if !yield(api.QueueID(name)) {
			return
		}
	}
}
