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
	// interestLasts is how long sessions publish after a request.
	interestLasts = time.Minute
	// followedShare is the pause after a publication, as a multiple of its duration, if clients only follow. Publications then take a
	// hundredth of the scheduler's time. followedAtLeast is the longest pause.
	followedShare, followedAtLeast = 100, interestLasts / 2
	// askedShare is the same for requests. A publication younger than fresh answers each request, because a page that follows requests
	// several lists after each publication.
	askedShare, fresh = 10, 2 * time.Second
)

// ErrNoSession reports that no session has ended during a request.
var ErrNoSession = errors.New("no session of the scheduler has ended: it may not be the leader, not have read everything yet, or hang")

// Published is the data of one session. It does not change after its publication.
type Published struct {
	Snapshot v1alpha1.Snapshot
	// Queues has parents before their children. Workloads and Holders are sorted from oldest to newest.
	Queues    []v1alpha1.Queue
	Cluster   []v1alpha1.Total
	Workloads []v1alpha1.Workload
	Holders   []v1alpha1.Holder
}

// Publisher connects the sessions of a scheduler to servers. It is safe for concurrent use.
type Publisher struct {
	clock clock.Clock

	mu sync.Mutex
	// interested is the time until which sessions publish.
	interested time.Time
	// latest is nil while no client is interested.
	latest *Published
	// begun and ended are the times of the last publication, and took is its duration.
	begun, ended time.Time
	took         time.Duration
	// behind reports whether a session has ended without a publication. asked makes the next session publish.
	behind, asked bool
	// next is closed and replaced at each publication.
	next chan struct{}
	// questions wait for a session that answers them.
	questions []*Question
	history   history
}

// New returns a publisher without requests.
func New(clock clock.Clock) *Publisher {
	return &Publisher{clock: clock, begun: clock.Now(), next: make(chan struct{})}
}

// Wanted reports whether a session that ends must publish its data. After a publication, there is a pause: see followedShare.
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

// Publish publishes the data of a session.
func (p *Publisher) Publish(now *Published) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest, p.asked = now, false
	p.ended = p.clock.Now()
	p.took = p.ended.Sub(p.begun)
	close(p.next)
	p.next = make(chan struct{})
}

// Asked reports whether somebody waits for a session, or has asked within the last minute.
func (p *Publisher) Asked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked || len(p.questions) > 0 || p.clock.Now().Before(p.interested)
}

// Ask makes the next session publish.
func (p *Publisher) Ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = true
}

// Latest returns the latest publication. If there is none, or if it is too old, Latest waits for the next session. The error is
// ErrNoSession if ctx ends first.
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

// After waits for a publication newer than known, which may be nil. It returns the error of ctx if ctx ends first.
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

// peekFresh is peek for requests. If the latest publication is too old, it makes the next session publish, and returns nil.
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

// peek records the interest of a client. It returns the latest publication, or nil if there is none, and a channel that is closed at
// the next publication.
func (p *Publisher) peek() (*Published, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.interested = p.clock.Now().Add(interestLasts)
	return p.latest, p.next
}
