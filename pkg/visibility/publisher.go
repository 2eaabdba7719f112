// SPDX-License-Identifier: Apache-2.0

package visibility

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
)

const (
	// interestLasts is for how long sessions publish after somebody has asked.
	interestLasts = time.Minute
	// followedShare is how many times longer than a publication took sessions publish nothing for those who only follow, so that they
	// take a hundredth of the scheduler's time. followedAtLeast is how often they publish however long it takes.
	followedShare, followedAtLeast = 100, interestLasts / 2
	// askedShare is the same for requests. What is younger than fresh answers them in any case: a page that follows asks for
	// several lists after each publication.
	askedShare, fresh = 10, 2 * time.Second
)

// ErrNoSession says that no session has ended while somebody waited for an answer.
var ErrNoSession = errors.New("no session of the scheduler has ended: it may not be the leader, not have read everything yet, or hang")

// Published is what one session tells. Nobody changes it after it has been published.
type Published struct {
	Snapshot v1alpha1.Snapshot
	// Queues has parents before their children, Workloads and Holders have the oldest first.
	Queues    []v1alpha1.Queue
	Workloads []v1alpha1.Workload
	Holders   []v1alpha1.Holder
}

// Publisher is between the sessions of a scheduler and those who ask. All methods may be called at any time.
type Publisher struct {
	clock clock.Clock

	mu sync.Mutex
	// interested is until when sessions publish.
	interested time.Time
	// latest is nil while nobody is interested.
	latest *Published
	// begun is when a session was last told to publish, ended when it had, and took is the time between.
	begun, ended time.Time
	took         time.Duration
	// behind says that a session has ended and did not publish. asked says that the next one shall.
	behind, asked bool
	// next is closed, and replaced, when something is published.
	next chan struct{}
	// questions wait for a session to answer them.
	questions []*Question
	history   history
}

// New returns a publisher that nobody has asked.
func New(clock clock.Clock) *Publisher {
	return &Publisher{clock: clock, begun: clock.Now(), next: make(chan struct{})}
}

// Wanted reports whether a session that ends shall publish what it knows. Not every session does, however many follow: see
// followedShare.
func (p *Publisher) Wanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if !p.asked && !now.Before(p.interested) {
		p.latest, p.behind = nil, false
		return false
	}
	if p.behind = !p.asked && p.latest != nil && now.Sub(p.ended) < min(followedShare*p.took, followedAtLeast); p.behind {
		return false
	}
	p.begun = now
	return true
}

// Publish makes what a session knows the latest.
func (p *Publisher) Publish(now *Published) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest, p.asked = now, false
	p.ended = p.clock.Now()
	p.took = p.ended.Sub(p.begun)
	close(p.next)
	p.next = make(chan struct{})
}

// Ask makes the next session publish.
func (p *Publisher) Ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = true
}

// Latest returns what the last session has published. If nobody has asked for some time, or the last session that published is too long
// ago, it waits for the next session. The error is ErrNoSession if ctx ends first.
func (p *Publisher) Latest(ctx context.Context) (*Published, error) {
	for {
		latest, next := p.peekFresh()
		if latest != nil {
			return latest, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (%w)", ErrNoSession, ctx.Err())
		}
	}
}

// After waits for something newer than what a caller has, which may be nil. The error is that of ctx, if it ends first.
func (p *Publisher) After(ctx context.Context, known *Published) (*Published, error) {
	for {
		latest, next := p.peek()
		if latest != nil && latest != known {
			return latest, nil
		}
		select {
		case <-next:
		case <-p.clock.After(interestLasts / 2): // stays interested while sessions take long
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// peekFresh is peek for somebody who wants to know how things are now. If what was published last is too old, it makes the next session
// publish, and returns nil.
func (p *Publisher) peekFresh() (*Published, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	p.interested = now.Add(interestLasts)
	if p.behind && now.Sub(p.ended) > max(fresh, askedShare*p.took) {
		p.asked = true
		return nil, p.next
	}
	return p.latest, p.next
}

// peek notes that somebody is interested. It returns what was published last, nil if that is not current, and a channel that is
// closed at the next publication.
func (p *Publisher) peek() (*Published, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.interested = p.clock.Now().Add(interestLasts)
	return p.latest, p.next
}
