// SPDX-License-Identifier: Apache-2.0

package visibility

import (
	"context"
	"errors"
	"fmt"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

// ErrNotFound says that the session does not have what was asked about.
var ErrNotFound = errors.New("the scheduler does not know it")

// maxQuestions is how many questions may wait for one session. Sessions answer them one after the other.
const maxQuestions = 64

// ErrBusy says that too many questions wait.
var ErrBusy = errors.New("too many questions wait for the scheduler: ask again later")

// Question asks a session why something waits. The session answers with its own checks, on its own ledger.
type Question struct {
	// Kind is Pod, PodGroup, or Job, which is a Job of Volcano.
	Kind, Namespace, Name string

	answers chan answer
}

type answer struct {
	explanation *v1alpha1.Explanation
	err         error
}

// Answer hands the answer to the asker. It must be called once. The error is ErrNotFound, or says why the question cannot be
// answered.
func (q *Question) Answer(explanation *v1alpha1.Explanation, err error) {
	q.answers <- answer{explanation, err}
}

// Explain asks the session that ends next. Errors are ErrNotFound, ErrBusy, ErrNoSession, and those of the session.
func (p *Publisher) Explain(ctx context.Context, kind, namespace, name string) (*v1alpha1.Explanation, error) {
	q := &Question{Kind: kind, Namespace: namespace, Name: name, answers: make(chan answer, 1)}
	if !p.ask(q) {
		return nil, ErrBusy
	}
	select {
	case a := <-q.answers:
		return a.explanation, a.err
	case <-ctx.Done():
		p.withdraw(q)
		return nil, fmt.Errorf("%w (%w)", ErrNoSession, ctx.Err())
	}
}

// Questions returns the questions that wait, nil if there are none. The session that calls it must answer them all.
func (p *Publisher) Questions() []*Question {
	p.mu.Lock()
	defer p.mu.Unlock()
	questions := p.questions
	p.questions = nil
	return questions
}

func (p *Publisher) ask(q *Question) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.questions) >= maxQuestions {
		return false
	}
	p.questions = append(p.questions, q)
	return true
}

func (p *Publisher) withdraw(q *Question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.questions {
		if p.questions[i] == q {
			p.questions = append(p.questions[:i], p.questions[i+1:]...)
			return
		}
	}
}
