// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// standing is everything but the cards of the node that decides which devices the quota allows for a pod, if the least that the pod may get fits.
type standing struct {
	queue []ledger.Standing
	// paid says for which parts of what the pod is checked for its queue pays already.
	paid []bool
	// matches says how devices are counted. unlisted says that their classes must be listed.
	matches, unlisted bool
}

func (s *Session) standingOf(state *State) *standing {
	paid := make([]bool, len(state.pod.Checked))
	for i, part := range state.pod.Checked {
		paid[i] = state.books.PaidFor(state.pod.Queue, part)
	}
	return &standing{
		paid:    paid,
		queue:   state.books.Standings(state.pod.Queue, ledger.DeviceCount, ledger.DeviceCapacity, ledger.Card),
		matches: s.Claims.Matches(), unlisted: s.RefuseUnlisted != nil,
	}
}

func (s *standing) equal(other *standing) bool {
	return s.matches == other.matches && s.unlisted == other.unlisted && slices.Equal(s.paid, other.paid) && slices.Equal(s.queue, other.queue)
}
