// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"sync"

	"github.com/devicequota/devicequota/pkg/dra"
)

// maxPicks limits the memory, to some 100 megabytes.
const maxPicks = 100_000

// picks are the results of searches in one session, for pods with equal claims. They are safe for concurrent use.
type picks struct {
	mu    sync.Mutex
	known map[picksOf]known
}

// picksOf identifies searches with the same result, as long as no device of the node is taken or put back.
type picksOf struct {
	claims digest
	node   string
}

// known is the result of a search. The pick is nil if there were no devices.
type known struct {
	*pick
	changes uint64
}

// of returns the result of an earlier search for a pod with equal claims. found is false if there is none that is still valid.
func (p *picks) of(state *State, node string, allocator *dra.Allocator) (picked *pick, found bool) {
	if state.alike == nil {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	earlier, found := p.known[picksOf{*state.alike, node}]
	return earlier.pick, found && earlier.changes == allocator.ChangesOn(node)
}

func (p *picks) keep(state *State, node string, picked *pick, changes uint64) {
	if state.alike == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxPicks {
		p.known = map[picksOf]known{}
	}
	p.known[picksOf{*state.alike, node}] = known{picked, changes}
}
