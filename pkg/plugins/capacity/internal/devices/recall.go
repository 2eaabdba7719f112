// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// find picks devices on a node for Filter, unless there are known to be none.
func (s *Session) find(state *State, node *corev1.Node) (*pick, error) {
	if picked := s.followed(state, node); picked != nil {
		return picked, nil
	}
	if known, found := s.picks.of(state, node.Name, s.allocator); found {
		return known, nil
	}
	asked := question{node: node.Name}
	if known := s.recall(state, node, asked); known != nil {
		if known.refusal != nil {
			state.refuse(known.refusal)
		}
		return nil, known.err
	}
	effort := state.effort.Node()
	changes := s.allocator.ChangesOn(node.Name)
	picked, quota, err := s.search(state, node, effort)
	if err == nil {
		s.picks.keep(state, node.Name, picked, changes)
	}
	// Devices that are promised in this session are free in the next session.
	if picked == nil && len(s.promises) == 0 {
		s.remember(state, node, asked, effort, answer{err: err, refusal: quota.refusal, refused: quota.refusals > 0, cards: s.cardsOn(state, node)})
	}
	return picked, err
}

// cardsOn encodes the charge of the cards that a pod would get on a node.
func (s *Session) cardsOn(state *State, node *corev1.Node) string {
	cards := s.CardsOn(state.pod, node)
	if cards == nil {
		return ""
	}
	return string(appendDemand(nil, ledger.Demand{cards}))
}

// recallPod looks up what is known about a pod, or about pods with the same request.
func (s *Session) recallPod(state *State) {
	if len(state.unallocated) == 0 {
		return
	}
	extended := slices.ContainsFunc(state.unallocated, func(claim *demand.Claim) bool { return dra.IsExtended(claim.Object) })
	if !state.open && !extended && len(state.allocated) == 0 {
		state.alike = s.memory.signed.alike(state.unallocated)
	}
	state.signature = s.memory.sign(state)
	if known := s.memory.of(state.signature, state.pod.Object); known != nil {
		known.use(func() *standing { return s.standingOf(state) })
		state.known.Store(known)
	}
}

// recall returns the known answer to a question, nil if there is none or another search would get further.
func (s *Session) recall(state *State, node *corev1.Node, asked question) *answer {
	pod := state.known.Load()
	if pod == nil {
		return nil
	}
	known := pod.on(asked, node, s.versionOf(asked), s.memory.session.Load())
	if known == nil {
		own := asked
		own.of = state.pod.Object.UID
		known = pod.on(own, node, s.versionOf(asked), s.memory.session.Load())
	}
	if known == nil || known.refused && known.cards != s.cardsOn(state, node) {
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

// remember keeps the answer to a question that took long. An error names the claims of the pod, so it applies only to this pod.
func (s *Session) remember(state *State, node *corev1.Node, asked question, effort *dra.NodeEffort, found answer) {
	if effort.Used() < memorable {
		return
	}
	devices := s.versionOf(asked)
	if !asked.evictions && devices > s.devicesVersion {
		return // the allocators of this session may not know the latest change
	}
	answer := found
	if unfinished := new(dra.UnfinishedError); found.err != nil && !errors.As(found.err, &unfinished) {
		asked.of = state.pod.Object.UID
	}
	answer.effort = effort.Had()
	answer.resourceVersion, answer.labels = node.ResourceVersion, node.Labels
	answer.devices, answer.asked = devices, s.memory.session.Load()
	known := state.known.Load()
	if known == nil {
		known = s.memory.begin(state.signature, state.pod.Object)
		state.known.Store(known)
	}
	known.keep(asked, &answer, s.memory.full, func() *standing { return s.standingOf(state) })
}

// versionOf returns the version of the devices in use that the answer to a question depends on.
func (s *Session) versionOf(asked question) uint64 {
	if asked.evictions {
		return s.evictable.inUse
	}
	return s.DevicesVersionOn(asked.node, s.Catalog)
}
