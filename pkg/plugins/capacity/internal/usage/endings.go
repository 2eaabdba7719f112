// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"slices"
	"sync"
	"time"

	"github.com/devicequota/devicequota/pkg/accounting"
)

// endings notes when pods are deleted and when claims lose their devices, so sessions need not search for them. Handlers of informers
// note endings. Sessions take the endings noted before their snapshot: for later ones, the snapshot still has the holders.
type endings struct {
	mu sync.Mutex
	// on says that usage is recorded.
	on    bool
	noted []ending
}

// ending is the time until which a holder held something.
type ending struct {
	key accounting.Key
	at  time.Time
}

// begin makes handlers note endings.
func (e *endings) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.on = true
}

// count returns the number of noted endings.
func (e *endings) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.noted)
}

// take returns the first n noted endings, and forgets them.
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
