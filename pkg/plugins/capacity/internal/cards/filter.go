// SPDX-License-Identifier: Apache-2.0

package cards

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/card"
	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// Session decides about the cards of nodes during one session.
type Session struct {
	// Fleet has the cards that all nodes offer.
	Fleet *card.Fleet
	// Holds reports whether a pod on the node holds these cards at the expense of the queue.
	Holds func(node *api.NodeInfo, queue string, card ledger.Ordinal) bool
	// Weight is the weight of the card preference in Score.
	Weight float64
}

// Filter returns why a pod must not take the cards of a node, nil if it may. Either the pod names other cards, the
// quota forbids these cards, or a quota applies and it is unknown which cards these are. A refusal is unresolvable if
// no eviction on the node can help: then Volcano evicts no pod there. books is the ledger that the cards must fit.
func (s *Session) Filter(books *ledger.Ledger, state State, pod *demand.Pod, node *api.NodeInfo) *report.NodeRefusal {
	cards, offers := pod.Cards, s.Fleet.Node(node.Name)
	if _, ok := cards.Position(offers); !ok {
		return unresolvable("has no card " + cards.Wanted)
	}
	if state == nil {
		return nil
	}
	for i := range cards.Requests {
		request := &cards.Requests[i]
		name, found := offers.Of(request.Resource)
		if !found {
			if node.Allocatable.ScalarResources[request.Resource] > 0 && !slices.Contains(dra.Served(node.Node), request.Resource) {
				return unresolvable(fmt.Sprintf("offers %s, but its labels do not say which card that is, and the queue limits cards", request.Resource))
			}
			continue
		}
		j := slices.IndexFunc(request.Among, func(among demand.Card) bool { return among.Name == name })
		if j < 0 {
			return unresolvable("has no card that the pod names for " + string(request.Resource))
		}
		if refusal := state[i][j]; refusal != nil {
			helps := refusal.Dimension.Kind != ledger.Card || s.Holds(node, refusal.Queue, request.Among[j].Ordinal)
			return &report.NodeRefusal{Message: refusal.String(), Unresolvable: !helps}
		}
	}
	if len(cards.Requests) > 1 {
		return s.filterTogether(books, pod, node.Node)
	}
	return nil
}

func unresolvable(message string) *report.NodeRefusal {
	return &report.NodeRefusal{Message: message, Unresolvable: true}
}

// filterTogether checks all requests together, because two resources may stand for the same card.
func (s *Session) filterTogether(books *ledger.Ledger, pod *demand.Pod, node *corev1.Node) *report.NodeRefusal {
	refusal, err := books.Fits(pod.Queue, append(slices.Clip(pod.Checked), s.On(pod, node)))
	switch {
	case err != nil:
		return &report.NodeRefusal{Message: err.Error()}
	case refusal != nil:
		return &report.NodeRefusal{Message: refusal.String()}
	default:
		return nil
	}
}

// On returns what the pod would be charged for the cards of a node.
func (s *Session) On(pod *demand.Pod, node *corev1.Node) *ledger.Part {
	return pod.Cards.On(s.Fleet.Node(node.Name))
}

// Score prefers nodes with the card that the pod names first: they score 100 times the weight. Each further card scores
// half as much as the one before. Without names, all nodes score 0.
func (s *Session) Score(pod *demand.Pod, node string) float64 {
	if pod.Cards == nil || len(pod.Cards.Names) == 0 {
		return 0
	}
	position, ok := pod.Cards.Position(s.Fleet.Node(node))
	if !ok {
		return 0
	}
	return s.ScoreOf(position)
}

// ScoreOf returns the score of a node with the card at a position in the list that a pod names.
func (s *Session) ScoreOf(position int) float64 {
	return s.Weight * 100 * math.Pow(2, -float64(position))
}
