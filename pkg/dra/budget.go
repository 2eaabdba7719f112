// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"sync"

	"github.com/devicequota/devicequota/pkg/dra/turns"
)

// The cost of long searches for devices. One unit is about two microseconds, see steps.
const (
	// BudgetOfSession is what the long searches of one session may spend together, some 0.7 seconds.
	BudgetOfSession = 300_000
	// BudgetOfAnswers is the same for the answers to all questions of people in one session.
	BudgetOfAnswers = 60_000
	// budgetOfJob is the maximum that long searches of one job may spend in one session. No search gets more.
	budgetOfJob = 100_000
	// kept is the part of the budget that a session keeps for jobs that waited in earlier sessions.
	kept = BudgetOfSession * 2 / 3
)

// Budget bounds the cost of long searches for devices in one session. It keeps a job, or many jobs of one user, from slowing down all
// others. Searches of ordinary length are free, see effortOfNode. Budget is safe for concurrent use.
type Budget struct {
	mu sync.Mutex
	// left is the unspent budget that is not kept for any job.
	left int
	jobs map[string]*Effort
	// searches counts the searches. spent is the cost of the long ones.
	searches, spent int
	// waiting holds the jobs that need more than the remaining budget.
	waiting turns.Line
}

// NewBudget returns a budget of the given number of units.
func NewBudget(units int) *Budget {
	return &Budget{left: units, jobs: map[string]*Effort{}}
}

// Next returns the budget of the next session. Waiting jobs get turns. For some of them, Next keeps the maximum that one job may spend.
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

// Used returns the number of searches, and the cost of the long ones.
func (b *Budget) Used() (searches, spent int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.searches, b.spent
}

// Of returns the effort of a job in a queue.
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

// Effort bounds the work for one job in one session, for all nodes and pods together. It is safe for concurrent use.
type Effort struct {
	budget     *Budget
	queue, job string

	// The mutex of the budget protects the remaining fields.

	// spent is the cost of long searches so far. kept is the remaining amount that the session keeps for the job.
	spent, kept int
	// long says that a search was long. Later searches are not free.
	long bool
	// wants says that a search needs more than the remaining budget.
	wants bool
}

// Node returns the effort for a node.
func (e *Effort) Node() *NodeEffort { return &NodeEffort{job: e} }

// Available returns the amount that can now be spent on one more node.
func (e *Effort) Available() int {
	e.budget.mu.Lock()
	defer e.budget.mu.Unlock()
	if e.long {
		return e.left()
	}
	return effortOfNode + e.left()
}

// left returns the amount that long searches can still spend.
func (e *Effort) left() int { return min(budgetOfJob-e.spent, e.kept+e.budget.left) }

// Want asks for a turn in a later session, for a search that could spend had and did not end. It reports whether the search may get
// further then.
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

// Spend spends units on work for the job other than a search on a node. It returns false if too little is left. Then the job gets a turn in a later
// session, in which more is left, unless no job gets more than this one had.
func (e *Effort) Spend(units int) bool {
	drawn, left := e.draw(units, units)
	if drawn == 0 {
		e.Want(e.spent + left)
	}
	return drawn > 0
}

// draw takes between least and most units. If fewer than least are left, it takes none and returns the remaining amount.
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

// giveBack returns drawn units that were not used.
func (e *Effort) giveBack(units int) {
	e.budget.mu.Lock()
	defer e.budget.mu.Unlock()
	e.spent, e.budget.left = e.spent-units, e.budget.left+units
	e.budget.spent -= units
}

// granted returns the amount that a new search may spend for free.
func (e *Effort) granted(devices int) int {
	e.budget.mu.Lock()
	defer e.budget.mu.Unlock()
	e.budget.searches++
	if e.long {
		return 0
	}
	return effortOfNode + effortOfDevice*devices
}
