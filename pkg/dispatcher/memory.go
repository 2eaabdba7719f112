// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

// promiseLasts is for how long what others gave back is kept for the workload that they gave it back for.
const promiseLasts = 10 * time.Minute

// memory is what a leader remembers from one cycle to the next. A leader that has forgotten it waits a little longer, or
// takes back more than it needs.
type memory struct {
	// rests has since when clusters are told what makes a grant end or shrink, and nothing else.
	rests map[types.UID]settling
	// promised has until when room is kept for a workload that others gave it back for.
	promised map[types.UID]time.Time
}

// settling is since when clusters have been told something.
type settling struct {
	told  string
	since time.Time
}

func newMemory() *memory {
	return &memory{rests: map[types.UID]settling{}, promised: map[types.UID]time.Time{}}
}

// restsSince returns since when the clusters of a workload have been told something.
func (m *memory) restsSince(w *framework.Workload, told string, now time.Time) time.Time {
	r, rests := m.rests[w.Binding.UID]
	if !rests || r.told != told {
		r = settling{told: told, since: now}
	}
	m.rests[w.Binding.UID] = r
	return r.since
}

// stirs notes that clusters are told something else.
func (m *memory) stirs(w *framework.Workload) { delete(m.rests, w.Binding.UID) }

// promise keeps what others give back for a workload.
func (m *memory) promise(w *framework.Workload, now time.Time) {
	m.promised[w.Binding.UID] = now.Add(promiseLasts)
}

// forget drops what is about workloads that are gone, have been granted room, or have been promised it for too long.
func (m *memory) forget(s *framework.Snapshot) {
	if len(m.rests)+len(m.promised) == 0 {
		return
	}
	exists, waits := map[types.UID]bool{}, map[types.UID]bool{}
	for _, w := range s.Workloads {
		exists[w.Binding.UID] = true
		waits[w.Binding.UID] = w.Waits() || w.Grows()
	}
	for uid := range m.rests {
		if !exists[uid] {
			delete(m.rests, uid)
		}
	}
	for uid, until := range m.promised {
		if !waits[uid] || !until.After(s.Now) {
			delete(m.promised, uid)
		}
	}
}
