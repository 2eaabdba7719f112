// SPDX-License-Identifier: Apache-2.0

package visibility

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// ErrNotFound reports that the session does not have the object of a question.
var ErrNotFound = errors.New("the scheduler does not know it")

const (
	// maxQuestions limits how many different questions may wait.
	maxQuestions = 64
	// answersTake limits how long a session answers questions. It answers at least one, and leaves the others to later sessions.
	answersTake = 100 * time.Millisecond
)

// ErrBusy reports that too many questions wait.
var ErrBusy = errors.New("too many questions wait for the scheduler: ask again later")

// Question asks a session why an object waits. The session answers with its own checks and ledger. Several users may share a question.
type Question struct {
	// Kind is Pod, PodGroup, or Job. A Job is a Job of Volcano.
	Kind, Namespace, Name string

	// The publisher's mutex guards the other fields.

	// waiters wait for the answer.
	waiters []chan answer
	// passed reports whether a session has ended without an answer.
	passed bool
}

// answer is shared by all waiters, and must not be changed.
type answer struct {
	explanation *v1alpha1.Explanation
	err         error
}

// Explain asks the session that ends next. Concurrent calls for the same object get the same explanation, which they must not change. The error is
// ErrNotFound, ErrBusy, ErrNoSession, or an error of the session.
func (p *Publisher) Explain(ctx context.Context, kind, namespace, name string) (*v1alpha1.Explanation, error) {
	waiter := make(chan answer, 1)
	q := p.ask(Question{Kind: kind, Namespace: namespace, Name: name}, waiter)
	if q == nil {
		return nil, ErrBusy
	}
	select {
	case a := <-waiter:
		return a.explanation, a.err
	case <-ctx.Done():
		if p.withdraw(q, waiter) {
			return nil, fmt.Errorf("%w (%w)", ErrBusy, ctx.Err())
		}
		return nil, fmt.Errorf("%w (%w)", ErrNoSession, ctx.Err())
	}
}

// AnswerQuestions lets a session answer waiting questions for a limited time, the oldest first. The errors of answers are ErrNotFound, or the reason
// why a question cannot be answered.
func (p *Publisher) AnswerQuestions(answers func(*Question) (*v1alpha1.Explanation, error)) {
	begun := p.clock.Now()
	for q := p.nextQuestion(); q != nil; q = p.nextQuestion() {
		explanation, err := answers(q)
		p.answer(q, answer{explanation, err})
		if p.clock.Since(begun) >= answersTake {
			break
		}
	}
	p.passOver()
}

// nextQuestion takes the oldest question, or returns nil if none waits.
func (p *Publisher) nextQuestion() *Question {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.questions) == 0 {
		return nil
	}
	q := p.questions[0]
	p.questions = p.questions[1:]
	return q
}

func (p *Publisher) answer(q *Question, a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, waiter := range q.waiters {
		waiter <- a
	}
}

// passOver marks the waiting questions as left to later sessions.
func (p *Publisher) passOver() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.questions {
		q.passed = true
	}
}

// ask adds a waiter to a question. It returns nil if too many other questions wait.
func (p *Publisher) ask(asked Question, waiter chan answer) *Question {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.questions {
		if q.Kind == asked.Kind && q.Namespace == asked.Namespace && q.Name == asked.Name {
			q.waiters = append(q.waiters, waiter)
			return q
		}
	}
	if len(p.questions) >= maxQuestions {
		return nil
	}
	asked.waiters = []chan answer{waiter}
	p.questions = append(p.questions, &asked)
	return &asked
}

// withdraw removes a waiter, and a question without waiters. It reports whether a session left the question to later ones.
func (p *Publisher) withdraw(q *Question, waiter chan answer) (passed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.waiters = slices.DeleteFunc(q.waiters, func(other chan answer) bool { return other == waiter })
	if len(q.waiters) == 0 {
		p.questions = slices.DeleteFunc(p.questions, func(other *Question) bool { return other == q })
	}
	return q.passed
}
