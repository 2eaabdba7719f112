// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

const (
	// worksSettle is for how long a binding without clusters must have had no Work before its grant ends.
	worksSettle = 3 * time.Second
	// promiseLasts is for how long what others gave back is kept for the workload that they gave it back for.
	promiseLasts = 10 * time.Minute
)

// memory is what a leader remembers from one cycle to the next. A leader that has forgotten it waits a little longer, or
// takes back more than it needs.
type memory struct {
	// rests has since when a workload whose grant is being taken back has no clusters and no Works.
	rests map[types.UID]time.Time
	// promised has until when room is kept for a workload that others gave it back for.
	promised map[types.UID]time.Time
}

func newMemory() *memory {
	return &memory{rests: map[types.UID]time.Time{}, promised: map[types.UID]time.Time{}}
}

// restsSince returns since when nothing of a workload has been seen to run.
func (m *memory) restsSince(w *framework.Workload, now time.Time) time.Time {
	since, rests := m.rests[w.Binding.UID]
	if !rests {
		since = now
		m.rests[w.Binding.UID] = now
	}
	return since
}

// stirs notes that something of a workload may run.
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
	returns, waits := map[types.UID]bool{}, map[types.UID]bool{}
	for _, w := range s.Workloads {
		returns[w.Binding.UID] = w.Returns()
		waits[w.Binding.UID] = w.Waits() || w.Grows()
	}
	for uid := range m.rests {
		if !returns[uid] {
			delete(m.rests, uid)
		}
	}
	for uid, until := range m.promised {
		if !waits[uid] || !until.After(s.Now) {
			delete(m.promised, uid)
		}
	}
}
