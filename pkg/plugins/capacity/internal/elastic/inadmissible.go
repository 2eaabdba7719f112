// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"hash/maphash"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Cache remembers for which jobs nobody can be evicted, so that the question is not asked again while nothing has changed.
type Cache struct {
	seed    maphash.Seed
	answers map[question]answer
	// nodes has what decides of each node.
	nodes map[string]nodeState
	// catalog is the last that was seen, and edition counts them.
	catalog *dra.Catalog
	edition int
	// turns decides, for each rule, which jobs ask again.
	turns map[eviction.Rule]*evictionTurns
}

type question struct {
	rule     eviction.Rule
	podGroup types.UID
}

// answer is that there was no right set of victims for a job.
type answer struct {
	// never says that the job could not start even if nobody else had anything, so that it does not matter what others have.
	never bool
	// state is the state of the cluster then, as far as it matters.
	state uint64
	// at is when that was found out.
	at time.Time
	// cannot is what the queue of the job is told. It is nil if that is nothing.
	cannot *report.CannotReclaim
	// protected is how many pods of gangs stand in the way.
	protected int
}

const (
	// forgetAfter is when a question is asked again although nothing has changed that this plugin knows: other plugins may
	// decide by the time.
	forgetAfter = time.Minute
	// maxForgotten is for how many jobs that happens in one session.
	maxForgotten = 2
)

// NewCache returns a cache that remembers nothing.
func NewCache() *Cache {
	return &Cache{
		seed: maphash.MakeSeed(), answers: map[question]answer{}, nodes: map[string]nodeState{},
		turns: map[eviction.Rule]*evictionTurns{eviction.Preempt: {}, eviction.Reclaim: {}},
	}
}

// hash is the same for the same value in this process.
func hash[T comparable](h *Cache, value T) uint64 { return maphash.Comparable(h.seed, value) }

// isInadmissible reports whether nobody could be evicted for a job when it was last asked, and nothing has changed since, or it is not its turn
// to ask.
func (s *Session) isInadmissible(rule eviction.Rule, job *api.JobInfo) bool {
	last, known := s.Cache.answers[question{rule, job.PodGroup.UID}]
	changed := !s.Remembers(rule, job) || s.forgets(last)
	if changed && s.Cache.turns[rule].may(job, known) {
		return false
	}
	if !known {
		return true
	}
	s.tellCannotReclaim(last.cannot)
	s.noteProtected(job, eviction.Obstacle{Gangs: last.protected})
	return true
}

// Remembers reports whether nobody could be evicted for a job when it was last asked, and nothing has changed since.
func (s *Session) Remembers(rule eviction.Rule, job *api.JobInfo) bool {
	last, known := s.Cache.answers[question{rule, job.PodGroup.UID}]
	return known && last.state == s.stateFor(job, last.never)
}

// noteInadmissible remembers that nobody can be evicted for a job, which was looked for since a time.
func (s *Session) noteInadmissible(rule eviction.Rule, job *api.JobInfo, since time.Time) {
	asked := question{rule, job.PodGroup.UID}
	last, known := s.Cache.answers[asked]
	never := s.StartsNever(job)
	now := answer{never: never, state: s.stateFor(job, never), at: s.Clock.Now()}
	if rule == eviction.Reclaim && !never {
		cannot, found := s.CannotReclaim(job)
		s.noteProtected(job, found)
		now.cannot = told(last.cannot, cannot)
		now.protected = s.protected[job.UID]
	}
	s.Cache.answers[asked] = now
	s.tellCannotReclaim(now.cannot)
	s.Cache.turns[rule].failed(job, known, s.Clock.Since(since))
}

// Clear forgets all answers.
func (c *Cache) Clear() { clear(c.answers) }

// Searches returns how often the last session looked for victims in vain.
func (c *Cache) Searches() int {
	return c.turns[eviction.Preempt].looked + c.turns[eviction.Reclaim].looked
}

// forgets reports whether an answer is so old that the question is asked again.
func (s *Session) forgets(last answer) bool {
	old := s.Clock.Since(last.at) > forgetAfter && s.forgotten < maxForgotten
	if old {
		s.forgotten++
	}
	return old
}

// told returns what the queue was told last if only what it holds has changed since, so that it is not told anew whenever a pod
// comes or goes.
func told(last, now *report.CannotReclaim) *report.CannotReclaim {
	if last == nil || now == nil {
		return now
	}
	same := *now
	same.Held, same.Gangs, same.Budgets = last.Held, last.Gangs, last.Budgets
	if same == *last {
		return last
	}
	return now
}

// Forget drops what is remembered of jobs that are gone.
func (s *Session) Forget() {
	if len(s.Cache.answers) == 0 {
		return
	}
	if nodes := s.Cache.nodes; len(nodes) > 2*len(s.Volcano.NodeList) {
		clear(nodes) // most are gone
	}
	groups := map[types.UID]bool{}
	for _, job := range s.Volcano.Jobs {
		if job.PodGroup != nil {
			groups[job.PodGroup.UID] = true
		}
	}
	for asked := range s.Cache.answers {
		if !groups[asked.podGroup] {
			delete(s.Cache.answers, asked)
		}
	}
}
