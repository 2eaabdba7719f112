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

// ErrNotFound says that the session does not have what was asked about.
var ErrNotFound = errors.New("the scheduler does not know it")

const (
	// maxQuestions is how many different questions may wait.
	maxQuestions = 64
	// answersTake is how long a session answers questions. It answers at least one, and leaves the others to later sessions.
	answersTake = 100 * time.Millisecond
)

// ErrBusy says that too many questions wait.
var ErrBusy = errors.New("too many questions wait for the scheduler: ask again later")

// Question asks a session why something waits. The session answers with its own checks, on its own ledger. Several people may ask the same.
type Question struct {
	// Kind is Pod, PodGroup, or Job, which is a Job of Volcano.
	Kind, Namespace, Name string

	// The rest is locked by the publisher.

	// waiters wait for the answer.
	waiters []chan answer
	// passed says that a session has ended without an answer to it.
	passed bool
}

// answer is shared by all who ask. Nobody changes it.
type answer struct {
	explanation *v1alpha1.Explanation
	err         error
}

// Explain asks the session that ends next. Those who ask the same at the same time get the same explanation, which they must not change. Errors
// are ErrNotFound, ErrBusy, ErrNoSession, and those of the session.
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

// AnswerQuestions lets a session answer the questions that wait, those first that have waited longest, for as long as a session may. The errors
// of answers are ErrNotFound, or say why a question cannot be answered.
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

// nextQuestion takes the question that has waited longest, nil if none waits.
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

// passOver notes that the questions that wait have been left to later sessions.
func (p *Publisher) passOver() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.questions {
		q.passed = true
	}
}

// ask adds somebody who asks a question. It returns nil if too many others wait.
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

// withdraw removes somebody who asks, and a question that nobody asks any more. It reports whether a session left the question to later ones.
func (p *Publisher) withdraw(q *Question, waiter chan answer) (passed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.waiters = slices.DeleteFunc(q.waiters, func(other chan answer) bool { return other == waiter })
	if len(q.waiters) == 0 {
		p.questions = slices.DeleteFunc(p.questions, func(other *Question) bool { return other == q })
	}
	return q.passed
}
