// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"sync"

	"github.com/devicequota/devicequota/pkg/dra/turns"
)

// What long searches for devices may cost. One unit is about two microseconds: see steps.
const (
	// BudgetOfSession is what the long searches of one session may spend together, some 0.3 seconds.
	BudgetOfSession = 150_000
	// BudgetOfAnswers is the same for the answers to all questions of people in one session.
	BudgetOfAnswers = 30_000
	// budgetOfJob is what the long searches of one job may spend in one session. No search gets more.
	budgetOfJob = 50_000
	// kept is the part of the budget that a session keeps for jobs that earlier sessions have left waiting.
	kept = BudgetOfSession * 2 / 3
)

// Budget bounds what one session spends on long searches for devices, so that one job, or many jobs of one user, do not slow down all
// others. Searches of ordinary length are not charged: see effortOfNode. Several goroutines may use it.
type Budget struct {
	mu sync.Mutex
	// left is what has not been spent, and is kept for nobody.
	left int
	jobs map[string]*Effort
	// searches is how many have begun, and spent what the long ones have cost.
	searches, spent int
	// waiting has the jobs that need more than there is.
	waiting turns.Line
}

// NewBudget returns a budget of so many units.
func NewBudget(units int) *Budget {
	return &Budget{left: units, jobs: map[string]*Effort{}}
}

// Next returns the budget of the next session. The jobs that this session has left waiting come in turn: for some of them, as much is kept
// as one job may spend.
func (b *Budget) Next() *Budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := NewBudget(BudgetOfSession)
	b.waiting.Keep(func(job string) bool { return b.jobs[job] != nil && b.jobs[job].wants })
	for _, job := range b.waiting.Take(kept / budgetOfJob) {
		next.jobs[job] = &Effort{budget: next, queue: b.jobs[job].queue, job: job, kept: budgetOfJob}
		next.left -= budgetOfJob
	}
	next.waiting = b.waiting
	return next
}

// Used returns how many searches have begun, and how much was spent on long ones.
func (b *Budget) Used() (searches, spent int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.searches, b.spent
}

// Of returns the effort of a job of a queue.
func (b *Budget) Of(queue, job string) *Effort {
	b.mu.Lock()
	defer b.mu.Unlock()
	effort := b.jobs[job]
	if effort == nil {
		effort = &Effort{budget: b, queue: queue, job: job}
		b.jobs[job] = effort
	}
	return effort
}

// Effort bounds the work that is spent on one job in one session, on all nodes and for all pods together. Several goroutines may use it.
type Effort struct {
	budget     *Budget
	queue, job string

	// The rest is locked by the budget.

	// spent is what long searches have spent, and kept what the session still keeps for the job.
	spent, kept int
	// long says that a search was long, so that those that follow are granted nothing.
	long bool
	// wants says that a search needs more than there is.
	wants bool
}

// Alone returns the effort of a job that has a budget for itself.
func Alone() *Effort { return NewBudget(BudgetOfSession).Of("", "") }

// Node returns the effort for a node.
func (e *Effort) Node() *NodeEffort { return &NodeEffort{job: e} }

// Available returns how much can be spent on one more node now.
func (e *Effort) Available() int {
	e.budget.mu.Lock()
	defer e.budget.mu.Unlock()
	if e.long {
		return e.left()
	}
	return effortOfNode + e.left()
}

// left is what long searches can spend.
func (e *Effort) left() int { return min(budgetOfJob-e.spent, e.kept+e.budget.left) }

// Want asks for a turn in a later session, for a search that could have spent so much and did not end. It reports whether the search
// may get further then.
func (e *Effort) Want(had int) bool {
	e.budget.mu.Lock()
	defer e.budget.mu.Unlock()
	if had >= budgetOfJob {
		return false
	}
	e.budget.waiting.Join(e.queue, e.job)
	e.wants = true
	return true
}

// draw takes between least and most units. If there are not as many, it takes none, and returns how many there are.
func (e *Effort) draw(least, most int) (drawn, left int) {
	e.budget.mu.Lock()
	defer e.budget.mu.Unlock()
	e.long = true
	if left = e.left(); left < least {
		return 0, left
	}
	drawn = min(most, left)
	ofKept := min(drawn, e.kept)
	e.spent, e.kept, e.budget.left = e.spent+drawn, e.kept-ofKept, e.budget.left-(drawn-ofKept)
	e.budget.spent += drawn
	return drawn, left - drawn
}

// giveBack undoes draw.
func (e *Effort) giveBack(units int) {
	e.budget.mu.Lock()
	defer e.budget.mu.Unlock()
	e.spent, e.budget.left = e.spent-units, e.budget.left+units
	e.budget.spent -= units
}

// granted is what a search that begins may spend without the budget.
func (e *Effort) granted(devices int) int {
	e.budget.mu.Lock()
	defer e.budget.mu.Unlock()
	e.budget.searches++
	if e.long {
		return 0
	}
	return effortOfNode + effortOfDevice*devices
}
