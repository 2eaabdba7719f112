// SPDX-License-Identifier: Apache-2.0

package framework

import "k8s.io/apimachinery/pkg/types"

// Search says how far the search for workloads that may go for others has come. Whoever opens sessions may keep it for the next one: each queue goes on where
// it was, whatever others look for.
type Search struct {
	// inVain has the workloads of each queue for which no others were found, since all of the queue were looked for.
	inVain map[string]map[types.UID]bool
	// unfinished has the queues of which this session has not looked for all, and waits those of them for which it has not looked at all.
	unfinished, waits map[string]bool
	// late has the queues for which the last session has not looked at all.
	late map[string]bool
}

// NewSearch returns a search that has not begun.
func NewSearch() *Search {
	return &Search{inVain: map[string]map[types.UID]bool{}, unfinished: map[string]bool{}, waits: map[string]bool{}}
}

// InVain notes that no others were found for a workload.
func (s *Search) InVain(w *Workload) {
	if s.inVain[w.Queue] == nil {
		s.inVain[w.Queue] = map[types.UID]bool{}
	}
	s.inVain[w.Queue][w.Binding.UID] = true
}

// WasInVain reports whether others of the queue come before a workload is looked for again.
func (s *Search) WasInVain(w *Workload) bool { return s.inVain[w.Queue][w.Binding.UID] }

// GoesOn notes that the next session goes on with a queue. Begun says that this one has looked for some of its workloads.
func (s *Search) GoesOn(queue string, begun bool) {
	s.unfinished[queue] = true
	if !begun {
		s.waits[queue] = true
	}
}

// IsLate reports whether a queue comes before others, because the last session has not looked for any of its workloads.
func (s *Search) IsLate(queue string) bool { return s.late[queue] }

// Late returns the number of such queues.
func (s *Search) Late() int { return len(s.late) }

// End ends a session, and reports whether there is more to look for.
func (s *Search) End() (more bool) {
	for queue := range s.inVain {
		if !s.unfinished[queue] {
			delete(s.inVain, queue)
		}
	}
	more = len(s.unfinished) > 0
	s.unfinished, s.waits, s.late = map[string]bool{}, map[string]bool{}, s.waits
	return more
}
