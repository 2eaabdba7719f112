// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"slices"
	"sync"
	"time"

	"github.com/devicequota/devicequota/pkg/accounting"
)

// endings notes when pods are deleted and when claims lose their devices, so that sessions need not look for what is gone. Handlers of
// informers note, and sessions take what was noted before their snapshot was taken: later, the snapshot still has what ended.
type endings struct {
	mu sync.Mutex
	// on says that usage is recorded.
	on    bool
	noted []ending
}

// ending says when a holder held something last.
type ending struct {
	key accounting.Key
	at  time.Time
}

// begin makes handlers note.
func (e *endings) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.on = true
}

// count returns how many endings have been noted.
func (e *endings) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.noted)
}

// take returns the n endings that were noted first, and forgets them.
func (e *endings) take(n int) []ending {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := slices.Clone(e.noted[:n])
	e.noted = slices.Delete(e.noted, 0, n)
	return taken
}

func (e *endings) note(at time.Time, keys ...accounting.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.on {
		return
	}
	for _, key := range keys {
		e.noted = append(e.noted, ending{key, at})
	}
}
