// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"slices"

	"github.com/devicequota/devicequota/pkg/ledger"
)

// standing is everything that decides which devices the quota allows for a pod. It applies to pods without cards and without
// allocated claims, if the least that the pod may get fits.
type standing struct {
	queue []ledger.Standing
	// matches says how devices are counted. unlisted says that their classes must be listed.
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
