// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"hash/maphash"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Cache remembers jobs for which no pod can be evicted, to avoid the same search while nothing has changed.
type Cache struct {
	seed    maphash.Seed
	answers map[question]answer
	// nodes has the relevant state of each node.
	nodes map[string]nodeState
	// catalog is the last catalog seen. edition counts the catalogs.
	catalog *dra.Catalog
	edition int
	// turns decides, for each rule, which jobs ask again.
	turns map[eviction.Rule]*evictionTurns
	// evicted has the last eviction of a pod of each PodGroup.
	evicted map[types.UID]v1alpha1.LastEviction
}

type question struct {
	rule     eviction.Rule
	podGroup types.UID
}

// answer says that there was no right set of victims for a job.
type answer struct {
	// never says that the job could not start even if all other pods were gone, so the holdings of others do not matter.
	never bool
	// state is the relevant state of the cluster at that time.
	state uint64
	// at is the time of the answer.
	at time.Time
	// cannot is the message for the queue of the job, nil if there is none.
	cannot *report.CannotReclaim
	// protected is the number of gang pods in the way.
	protected int
}

const (
	// forgetAfter is the time after which a question is asked again even if this plugin sees no change. Other plugins may
	// decide by the time.
	forgetAfter = time.Minute
	// maxForgotten is the maximum number of these repeated questions in one session.
	maxForgotten = 2
)

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{
		seed: maphash.MakeSeed(), answers: map[question]answer{}, nodes: map[string]nodeState{}, evicted: map[types.UID]v1alpha1.LastEviction{},
		turns: map[eviction.Rule]*evictionTurns{eviction.Preempt: {}, eviction.Reclaim: {}},
	}
}

// hash is deterministic within this process.
func hash[T comparable](h *Cache, value T) uint64 { return maphash.Comparable(h.seed, value) }

// isInadmissible reports whether a job must not ask for victims now. Either the last search found none and nothing has changed since, or it is
// not the turn of the job.
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

// Remembers reports whether the last search found no victims for a job, and nothing has changed since.
func (s *Session) Remembers(rule eviction.Rule, job *api.JobInfo) bool {
	last, known := s.Cache.answers[question{rule, job.PodGroup.UID}]
	return known && last.state == s.stateFor(job, last.never)
}

// noteInadmissible remembers that there are no victims for a job. The search started at the given time.
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

// Searches returns the number of unsuccessful searches for victims in the last session.
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

// told returns the last message if only the holdings have changed since. Otherwise, the queue would get a new message whenever
// a pod comes or goes.
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

// Forget drops the answers for jobs that are gone, and their evictions.
func (s *Session) Forget() {
	if len(s.Cache.answers)+len(s.Cache.evicted) == 0 {
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
	maps.DeleteFunc(s.Cache.evicted, func(group types.UID, _ v1alpha1.LastEviction) bool { return !groups[group] })
}

// StartsNever reports whether a job without victims could not start even if all other pods were gone: too few of its pods suit any node.
// PrePredicate of its pods must have run.
func (s *Session) StartsNever(job *api.JobInfo) bool {
	pending := job.TaskStatusIndex[api.Pending]
	if eviction.IsPipelined(s.Volcano, job) {
		return false // no minimum is missing
	}
	may := int(job.MinAvailable) - (len(job.Tasks) - len(pending))
	kinds := map[[32]byte]bool{}
	for _, task := range pending {
		if may <= 0 {
			return false
		}
		if !s.Placements.StartsNowhere(task, kinds) {
			may--
		}
	}
	return may > 0
}
