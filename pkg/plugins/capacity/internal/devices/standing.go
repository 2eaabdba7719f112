// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// standing is all that decides which devices the quota allows for a pod that has no cards and whose claims have no devices, if
// the least that the pod may get fits.
type standing struct {
	queue []ledger.Standing
	// matches and unlisted say how devices are counted, and whether they must be listed.
	matches, unlisted bool
}

func (s *Session) standingOf(state *State) *standing {
	return &standing{
		queue:   state.books.Standings(state.pod.Queue, ledger.DeviceCount, ledger.DeviceCapacity, ledger.Card),
		matches: s.Claims.Matches(), unlisted: s.RefuseUnlisted != nil,
	}
}

func (s *standing) equal(other *standing) bool {
	return s.matches == other.matches && s.unlisted == other.unlisted && slices.Equal(s.queue, other.queue)
}
