// SPDX-License-Identifier: Apache-2.0

package visibility

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

func newTestPublisher() (*Publisher, *clocktesting.FakeClock) {
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	return New(clock), clock
}

// session is the end of a session.
func session(p *Publisher, name string) {
	p.AnswerQuestions(func(q *Question) (*v1alpha1.Explanation, error) {
		return &v1alpha1.Explanation{Subject: v1alpha1.Object{Kind: q.Kind, Namespace: q.Namespace, Name: q.Name}}, nil
	})
	if p.Wanted() {
		p.Publish(&Published{Snapshot: v1alpha1.Snapshot{Session: name}})
	}
}

func TestSessionsPublishOnlyWhileSomebodyAsks(t *testing.T) {
	p, clock := newTestPublisher()
	if p.Wanted() {
		t.Fatal("a session publishes before anybody has asked")
	}
	asked := make(chan *Published)
	go func() {
		latest, err := p.Latest(t.Context())
		if err != nil {
			t.Error(err)
		}
		asked <- latest
	}()
	var first *Published
	for first == nil {
		session(p, "first")
		select {
		case first = <-asked:
		default:
		}
	}
	if first.Snapshot.Session != "first" {
		t.Errorf("got session %q", first.Snapshot.Session)
	}
	clock.Step(interestLasts - time.Second)
	session(p, "second")
	if latest, err := p.Latest(t.Context()); err != nil || latest.Snapshot.Session != "second" {
		t.Errorf("got %+v, %v, want the last session without waiting", latest, err)
	}
	clock.Step(interestLasts + time.Second)
	session(p, "third")
	if p.latest != nil {
		t.Error("what nobody asks for is kept")
	}
}

// publishes ends sessions, one a second, and returns the number of publications. A publication takes some time.
func publishes(p *Publisher, clock *clocktesting.FakeClock, sessions int, took time.Duration) int {
	published := 0
	for range sessions {
		clock.Step(time.Second)
		if p.Wanted() {
			clock.Step(took)
			p.Publish(&Published{})
			published++
		}
	}
	return published
}

func TestWhoFollowsCostsAHundredthOfTheTime(t *testing.T) {
	for _, c := range []struct {
		took time.Duration
		want int
	}{{time.Millisecond, 50}, {70 * time.Millisecond, 8}, {10 * time.Second, 2}} {
		p, clock := newTestPublisher()
		p.peek()
		if got := publishes(p, clock, 50, c.took); got != c.want {
			t.Errorf("%d of 50 sessions publish, want %d: a publication takes %s", got, c.want, c.took)
		}
	}
}

func TestWhoAsksGetsWhatIsYoungOrWaitsForTheNextSession(t *testing.T) {
	p, clock := newTestPublisher()
	const took = 70 * time.Millisecond
	p.peek()
	publishes(p, clock, 1, took)
	first := p.latest
	if publishes(p, clock, 2, took) > 0 {
		t.Fatal("a session publishes for somebody who only follows")
	}
	if latest, err := p.Latest(t.Context()); err != nil || latest != first {
		t.Errorf("got %p, %v, want what was published two seconds ago", latest, err)
	}
	if publishes(p, clock, 1, took) > 0 {
		t.Fatal("a session publishes for somebody who has an answer")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Latest(gone); !errors.Is(err, ErrNoSession) {
		t.Errorf("Latest returns %v, want it to wait for the next session", err)
	}
	if publishes(p, clock, 2, took) != 1 {
		t.Error("the next session does not publish for somebody who asks")
	}
	if latest, err := p.Latest(t.Context()); err != nil || latest == first {
		t.Errorf("got %p, %v, want what the next session has published", latest, err)
	}
}

func TestWhatTheLastSessionPublishedIsNotTooOld(t *testing.T) {
	p, clock := newTestPublisher()
	p.peek()
	publishes(p, clock, 1, 0)
	clock.Step(30 * time.Second) // the next session takes long
	if latest, err := p.Latest(t.Context()); err != nil || latest != p.latest {
		t.Errorf("got %p, %v", latest, err)
	}
}

func TestNobodyWaitsWithoutEndForASession(t *testing.T) {
	p, _ := newTestPublisher()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Latest(ctx); !errors.Is(err, ErrNoSession) || !errors.Is(err, context.Canceled) {
		t.Errorf("Latest returns %v", err)
	}
	if _, err := p.Explain(ctx, "Pod", "ns", "p"); !errors.Is(err, ErrNoSession) {
		t.Errorf("Explain returns %v", err)
	}
	if p.nextQuestion() != nil {
		t.Error("a question of somebody who has gone is answered")
	}
}

func TestTheNextSessionAnswersQuestions(t *testing.T) {
	p, _ := newTestPublisher()
	type reply struct {
		told *v1alpha1.Explanation
		err  error
	}
	replies := make(chan reply)
	go func() {
		told, err := p.Explain(t.Context(), "Pod", "ns", "p")
		replies <- reply{told, err}
	}()
	for {
		session(p, "")
		select {
		case got := <-replies:
			if got.err != nil || got.told.Subject != (v1alpha1.Object{Kind: "Pod", Namespace: "ns", Name: "p"}) {
				t.Errorf("got %+v, %v", got.told, got.err)
			}
			return
		default:
		}
	}
}

func TestNoMoreQuestionsWaitThanASessionCanAnswer(t *testing.T) {
	p, _ := newTestPublisher()
	for i := range maxQuestions {
		if p.ask(Question{Name: fmt.Sprint(i)}, nil) == nil {
			t.Fatal("a question is refused")
		}
	}
	if _, err := p.Explain(t.Context(), "Pod", "ns", "p"); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
}

// TestEqualQuestionsAreOne, even if there are more of them than the limit for different questions.
func TestEqualQuestionsAreOne(t *testing.T) {
	p, _ := newTestPublisher()
	waiters := make([]chan answer, 2*maxQuestions)
	for i := range waiters {
		waiters[i] = make(chan answer, 1)
		if p.ask(Question{Kind: "Pod", Namespace: "ns", Name: "p"}, waiters[i]) == nil {
			t.Fatal("a question is refused")
		}
	}
	answered := 0
	p.AnswerQuestions(func(*Question) (*v1alpha1.Explanation, error) {
		answered++
		return &v1alpha1.Explanation{}, nil
	})
	if answered != 1 {
		t.Errorf("%d questions are answered, want 1", answered)
	}
	for i, waiter := range waiters {
		if len(waiter) != 1 {
			t.Errorf("waiter %d has no answer", i)
		}
	}
}

// TestASessionAnswersNoLongerThanItMay. The next ones answer the other questions, in their order.
func TestASessionAnswersNoLongerThanItMay(t *testing.T) {
	p, clock := newTestPublisher()
	var questions []*Question
	for i := range 5 {
		questions = append(questions, p.ask(Question{Name: fmt.Sprint(i)}, make(chan answer, 1)))
	}
	var answered []string
	session := func() {
		p.AnswerQuestions(func(q *Question) (*v1alpha1.Explanation, error) {
			answered = append(answered, q.Name)
			clock.Step(answersTake/2 + time.Millisecond)
			return nil, nil
		})
	}
	session()
	if fmt.Sprint(answered) != "[0 1]" || !questions[2].passed {
		t.Errorf("the first session answers %v", answered)
	}
	if busy := p.withdraw(questions[2], questions[2].waiters[0]); !busy {
		t.Error("who has waited for too long is not told that others were first")
	}
	if session(); fmt.Sprint(answered) != "[0 1 3 4]" {
		t.Errorf("two sessions answer %v", answered)
	}
}

func TestWhoHasTheLatestWaitsForTheNext(t *testing.T) {
	p, _ := newTestPublisher()
	known := &Published{}
	p.Publish(known)
	next := make(chan *Published)
	go func() {
		got, err := p.After(t.Context(), known)
		if err != nil {
			t.Error(err)
		}
		next <- got
	}()
	newer := &Published{}
	for {
		if p.Wanted() {
			p.Publish(newer)
		}
		select {
		case got := <-next:
			if got != newer {
				t.Errorf("got %p, want %p", got, newer)
			}
			return
		default:
		}
	}
}

func TestTheHistoryHasAValueForEachMinuteOfTheLastHour(t *testing.T) {
	p, clock := newTestPublisher()
	old := SeriesKey{Queue: "old", Dimension: v1alpha1.Dimension{Kind: v1alpha1.Card, Name: "H100"}}
	young := SeriesKey{Queue: "young", Dimension: old.Dimension}
	p.Record(map[SeriesKey]float64{old: 3})
	if p.HistoryDue() {
		t.Error("a second value is due at once")
	}
	for range historyLength {
		clock.Step(historyInterval)
		if !p.HistoryDue() {
			t.Fatal("no value is due after a minute")
		}
		p.Record(map[SeriesKey]float64{young: 5})
	}
	told := p.History()
	if len(told.Times) != historyLength || len(told.Items) != 1 || told.Items[0].Queue != "young" {
		t.Fatalf("got %d times and %+v, want the series of the last hour only", len(told.Times), told.Items)
	}
	for _, value := range told.Items[0].Values {
		if value != 5 {
			t.Errorf("got %v", told.Items[0].Values)
		}
	}
}
