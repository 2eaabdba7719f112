// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/dra"
)

// find picks devices on a node for Filter, unless it is known that there are none.
func (s *Session) find(state *State, node *corev1.Node) (*pick, error) {
	asked := question{node: node.Name}
	if known := s.recall(state, node, asked); known != nil {
		if known.refusal != nil {
			state.refuse(known.refusal)
		}
		return nil, known.err
	}
	effort := state.effort.Node()
	picked, quota, err := s.search(state, node, effort)
	refused := quota.refusals > 0
	// Devices that are promised in this session are free in the next one.
	if picked == nil && len(s.promises) == 0 && (!refused || hasStanding(state)) {
		s.remember(state, node, asked, effort, answer{err: err, refusal: quota.refusal, refused: refused})
	}
	return picked, err
}

// hasStanding reports whether a standing says all about what the quota allows for a pod.
func hasStanding(state *State) bool {
	return state.pod.Cards == nil && len(state.allocated) == 0
}

// recallPod looks for what earlier sessions found out about a pod.
func (s *Session) recallPod(state *State) {
	if len(state.unallocated) == 0 {
		return
	}
	if known := s.memory.of(state.pod.Object.UID, state.unallocated); known != nil {
		known.use(func() *standing { return s.standingOf(state) })
		state.known.Store(known)
	}
}

// recall returns the answer to a question if it is known and asking again would not get further. A node whose search has ended leaves what
// it is granted to other nodes, so that they get further. One whose search did not end does not: otherwise, the nodes would go on for
// each other in turn for thousands of sessions.
func (s *Session) recall(state *State, node *corev1.Node, asked question) *answer {
	pod := state.known.Load()
	if pod == nil {
		return nil
	}
	known := pod.on(asked, node, s.DevicesVersionOn(node.Name, s.Catalog), s.evictableEdition(asked))
	switch {
	case known == nil:
		return nil
	case known.effort == 0:
		state.effort.Skip()
	case state.effort.Available() > known.effort && state.goneOn.CompareAndSwap(false, true):
		return nil
	}
	return known
}

// remember keeps the answer to a question that took long. What the time ended may have another answer next time.
func (s *Session) remember(state *State, node *corev1.Node, asked question, effort *dra.NodeEffort, found answer) {
	if effort.Used() < memorable {
		return
	}
	unfinished, devices := new(dra.UnfinishedError), s.DevicesVersionOn(node.Name, s.Catalog)
	if errors.As(found.err, &unfinished) && unfinished.Timeout || devices > s.devicesVersion {
		return // the allocators of this session need not know the latest change
	}
	answer := found
	answer.effort = effort.Had()
	answer.resourceVersion, answer.labels = node.ResourceVersion, node.Labels
	answer.devices, answer.evictable = devices, s.evictableEdition(asked)
	known := state.known.Load()
	if known == nil {
		known = s.memory.begin(state.pod.Object, state.objects())
		state.known.Store(known)
	}
	known.keep(asked, &answer, func() *standing { return s.standingOf(state) })
}

// evictableEdition is zero for a question that does not depend on evictions.
func (s *Session) evictableEdition(asked question) int {
	if asked.evictions {
		return s.evictable.edition
	}
	return 0
}
