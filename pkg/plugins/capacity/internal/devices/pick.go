// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/dra"
)

// pick picks devices on a node. It returns nil if the node lacks devices, or if the quota allows none of them.
func (s *Session) pick(state *State, node *corev1.Node) (*pick, error) {
	picked, _, err := s.search(state, node, state.effort.Node())
	return picked, err
}

// search is pick. It also returns the quota with its results.
func (s *Session) search(state *State, node *corev1.Node, effort *dra.NodeEffort) (*pick, *nodeQuota, error) {
	picked := &pick{changes: s.allocator.Changes()}
	quota := &nodeQuota{session: s, state: state, node: node}
	results, err := s.allocator.Pick(s.searchContext(), node, state.objects(), quota.asQuota(), effort)
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

// searchContext returns the context of searches. A session that runs when the scheduler stops continues to its end.
func (s *Session) searchContext() context.Context { return context.WithoutCancel(s.ctx) }
