// SPDX-License-Identifier: Apache-2.0

package dispatcher

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// promiseLasts is how long returned room is kept for the workload that it was reclaimed for.
const promiseLasts = 10 * time.Minute

// memory is what a leader remembers between cycles. A leader without it waits a little longer, or reclaims more than it needs.
type memory struct {
	// rests has the last instructions to the clusters of each workload whose grant is about to end or shrink. RestedBefore has those of
	// the last cycle. What a cycle does not ask for is forgotten: the clusters may have got other instructions in between.
	rests, restedBefore map[types.UID]settling
	// promised has the workloads that reclaimed room is kept for.
	promised map[types.UID]promise
	// search is how far the search for workloads that may go has come.
	search *framework.Search
}

// promise says until when reclaimed room is kept for a workload, and what it lacked when it was refused. Its queue deserved what it needed then.
type promise struct {
	until time.Time
	scope framework.Scope
	queue string
	needs ledger.Amounts
}

// isFor reports whether a workload that waits is still what a promise was made for.
func (p *promise) isFor(w *framework.Workload) bool {
	return w.Queue == p.queue && (w.Err != nil || len(w.Needs.All.Beyond(p.needs, nil)) == 0)
}

// settling is an instruction to clusters and the time since which it is unchanged.
type settling struct {
	told  string
	since time.Time
}

func newMemory() *memory {
	return &memory{rests: map[types.UID]settling{}, promised: map[types.UID]promise{}, search: framework.NewSearch()}
}

// restsSince returns the time since which the instructions to the clusters of a workload are unchanged.
func (m *memory) restsSince(w *framework.Workload, told string, now time.Time) time.Time {
	r, rests := m.rests[w.Binding.UID]
	if !rests {
		r, rests = m.restedBefore[w.Binding.UID]
	}
	if !rests || r.told != told {
		r = settling{told: told, since: now}
	}
	m.rests[w.Binding.UID] = r
	return r.since
}

// stirs notes that the instructions to the clusters of a workload have changed.
func (m *memory) stirs(w *framework.Workload) {
	delete(m.rests, w.Binding.UID)
	delete(m.restedBefore, w.Binding.UID)
}

// promise keeps reclaimed room for a workload.
func (m *memory) promise(w *framework.Workload, now time.Time, scope framework.Scope) {
	m.promised[w.Binding.UID] = promise{now.Add(promiseLasts), scope, w.Queue, w.Needs.All}
}

// forget drops what the last cycle did not ask for, and promises that were kept, have expired, or were for something else. Each cycle begins with it.
func (m *memory) forget(s *framework.Snapshot) {
	m.restedBefore, m.rests = m.rests, map[types.UID]settling{}
	if len(m.promised) == 0 {
		return
	}
	waits := map[types.UID]bool{}
	for _, w := range s.Workloads {
		p, promised := m.promised[w.Binding.UID]
		waits[w.Binding.UID] = promised && (w.Waits() || w.Grows()) && p.isFor(w)
	}
	for uid, p := range m.promised {
		if !waits[uid] || !p.until.After(s.Now) {
			delete(m.promised, uid)
		}
	}
}
