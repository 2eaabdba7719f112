// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/dra"
)

const (
	// pickTimeout bounds the search for devices on one node, in case Kubernetes' algorithm goes back and forth among many
	// requests. A pod for which it ends the search is not looked at on other nodes in the same session.
	pickTimeout = 2 * time.Second
	// minPickTimeout is what is left when many pods have used up their time. It is many times what a search takes.
	minPickTimeout = 50 * time.Millisecond
)

// pick picks devices on a node. It returns nil if the node lacks devices, or if the quota allows none
// that it has.
func (s *Session) pick(state *State, node *corev1.Node) (*pick, error) {
	picked, _, err := s.search(state, node, state.effort.Node())
	return picked, err
}

// search is pick, and also returns what the quota says.
func (s *Session) search(state *State, node *corev1.Node, effort *dra.NodeEffort) (*pick, *nodeQuota, error) {
	picked := &pick{changes: s.allocator.Changes()}
	ctx, done := s.pickContext(state)
	defer done()
	quota := &nodeQuota{session: s, state: state, node: node}
	results, err := s.allocator.Pick(ctx, node, state.objects(), quota.asQuota(), effort)
	if quota.refusal != nil {
		state.refuse(quota.refusal)
	}
	switch {
	case err != nil:
		return nil, quota, err
	case results == nil:
		return nil, quota, quota.failed
	}
	picked.results, picked.amounts = results, quota.amounts
	return picked, quota, nil
}

// pickContext bounds the time of one search for a pod. A session that is running when the scheduler stops goes on to its end.
func (s *Session) pickContext(state *State) (ctx context.Context, done func()) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), s.timeout())
	return ctx, func() {
		s.ended(ctx, state)
		cancel()
	}
}

// ended counts a pod once if the time for its search is up.
func (s *Session) ended(ctx context.Context, state *State) {
	if ctx.Err() != nil {
		state.late.Do(func() { s.late.Add(1) })
	}
}

// timeout is half as long after each pod for which it ended the search, so that many such pods do not hold up the session.
func (s *Session) timeout() time.Duration {
	return max(minPickTimeout, pickTimeout>>min(s.late.Load(), 30))
}
