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

// recallPod looks for what was found out about a pod, or about others that ask for the same.
func (s *Session) recallPod(state *State) {
	if len(state.unallocated) == 0 {
		return
	}
	state.signature = s.memory.sign(state)
	if known := s.memory.of(state.signature, state.pod.Object); known != nil {
		known.use(func() *standing { return s.standingOf(state) })
		state.known.Store(known)
	}
}

// recall returns the answer to a question if it is known and asking again would not get further.
func (s *Session) recall(state *State, node *corev1.Node, asked question) *answer {
	pod := state.known.Load()
	if pod == nil {
		return nil
	}
	known := pod.on(asked, node, s.versionOf(asked))
	if known == nil || known.of != "" && known.of != state.pod.Object.UID {
		return nil
	}
	if known.effort > 0 {
		if state.effort.Available() > known.effort && state.goneOn.CompareAndSwap(false, true) {
			return nil
		}
		state.effort.Want(known.effort)
	}
	return known
}

// remember keeps the answer to a question that took long. An error names the claims of the pod, so that it is the pod's own.
func (s *Session) remember(state *State, node *corev1.Node, asked question, effort *dra.NodeEffort, found answer) {
	if effort.Used() < memorable {
		return
	}
	devices := s.versionOf(asked)
	if !asked.evictions && devices > s.devicesVersion {
		return // the allocators of this session need not know the latest change
	}
	answer := found
	if unfinished := new(dra.UnfinishedError); found.err != nil && !errors.As(found.err, &unfinished) {
		answer.of = state.pod.Object.UID
	}
	answer.effort = effort.Had()
	answer.resourceVersion, answer.labels = node.ResourceVersion, node.Labels
	answer.devices = devices
	known := state.known.Load()
	if known == nil {
		known = s.memory.begin(state.signature, state.pod.Object)
		state.known.Store(known)
	}
	known.keep(asked, &answer, func() *standing { return s.standingOf(state) })
}

// versionOf is another number when the answer to a question may be another one because of the devices that are in use.
func (s *Session) versionOf(asked question) uint64 {
	if asked.evictions {
		return s.evictable.inUse
	}
	return s.DevicesVersionOn(asked.node, s.Catalog)
}
