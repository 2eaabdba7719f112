// SPDX-License-Identifier: Apache-2.0

// Package ranking remembers which nodes suit a pod, and how well, for the next pods to which all nodes give the same answers. After a node has
// changed, only this node is asked again. The nodes have numbers from 0.
package ranking

import (
	"context"
	"math/rand/v2"

	"k8s.io/client-go/util/workqueue"
)

// Answer is what a node says about a pod.
type Answer struct {
	// Refusal says why the node does not suit the pod. It is nil if the node does.
	Refusal error
	// Later says that the node suits the pod only after other pods have left. Nodes that suit it now come first.
	Later bool
	// Score is higher for a better node.
	Score float64
}

// suits reports whether the node suits the pod now.
func (a *Answer) suits() bool { return a.Refusal == nil && !a.Later }

// Ranking has the answers of nodes. Nodes are asked in their order, from the first one on and in a circle, until enough of them suit the pod now.
type Ranking struct {
	nodes, first int
	answers      []answer
	// suitable is the number of nodes that suit the pod now. Those that suit it later do not count: the same ones would keep all pods from the others.
	suitable int
	// read is the number of changes of nodes that the answers take into account.
	read int
	// round is the number of calls of Best.
	round int
}

// New returns a ranking of some nodes that asks the first one first.
func New(nodes, first int) *Ranking { return &Ranking{nodes: nodes, first: first} }

// Asked returns the number of nodes that have answered.
func (r *Ranking) Asked() int { return len(r.answers) }

type answer struct {
	Answer
	// tie decides between nodes with the same score.
	tie uint32
	// round is the call of Best in which the node was asked.
	round int
}

// workers is the number of nodes that are asked at the same time, as in Volcano.
const workers = 16

// Best returns the best node, and whether ask was called for it now, rather than for an earlier pod. found is false if no node suits the pod: then all
// nodes have been asked. Nodes that have changed are asked again, and others until enough suit the pod now. Several goroutines call ask.
func (r *Ranking) Best(changed []int, enough int, ask func(node int) Answer) (best int, now, found bool) {
	r.round++
	r.askAgain(changed, ask)
	for r.suitable < enough && len(r.answers) < r.nodes {
		r.askNext(min(max(enough-r.suitable, workers), r.nodes-len(r.answers)), ask)
	}
	place := -1
	for i := range r.answers {
		if r.answers[i].Refusal == nil && (place < 0 || r.answers[i].before(&r.answers[place])) {
			place = i
		}
	}
	if place < 0 {
		return 0, false, false
	}
	return (r.first + place) % r.nodes, r.answers[place].round == r.round, true
}

// askAgain asks the nodes that have changed since the last call.
func (r *Ranking) askAgain(changed []int, ask func(node int) Answer) {
	var places []int
	for _, node := range changed[r.read:] {
		if place := r.place(node); place < len(r.answers) && r.answers[place].round < r.round {
			r.answers[place].round = r.round // a node may have changed several times
			places = append(places, place)
		}
	}
	r.read = len(changed)
	for i, now := range r.askAll(len(places), func(i int) int { return places[i] }, ask) {
		r.set(places[i], now)
	}
}

func (r *Ranking) askNext(n int, ask func(node int) Answer) {
	from := len(r.answers)
	for _, now := range r.askAll(n, func(i int) int { return from + i }, ask) {
		r.answers = append(r.answers, r.count(now))
	}
}

// askAll asks the nodes at n places at the same time.
func (r *Ranking) askAll(n int, place func(i int) int, ask func(node int) Answer) []Answer {
	asked := make([]Answer, n)
	workqueue.ParallelizeUntil(context.Background(), workers, n, func(i int) { asked[i] = ask((r.first + place(i)) % r.nodes) })
	return asked
}

func (r *Ranking) place(node int) int { return (node - r.first + r.nodes) % r.nodes }

func (r *Ranking) set(place int, now Answer) {
	if r.answers[place].suits() {
		r.suitable--
	}
	r.answers[place] = r.count(now)
}

func (r *Ranking) count(now Answer) answer {
	if now.suits() {
		r.suitable++
	}
	return answer{Answer: now, tie: rand.Uint32(), round: r.round}
}

// Refuse replaces the answer of a node.
func (r *Ranking) Refuse(node int, why error) { r.set(r.place(node), Answer{Refusal: why}) }

// Each calls yield with the answers of all nodes that have been asked.
func (r *Ranking) Each(yield func(node int, said Answer) bool) {
	for i := range r.answers {
		if !yield((r.first+i)%r.nodes, r.answers[i].Answer) {
			return
		}
	}
}

// before reports whether a node is better than another one.
func (a *answer) before(other *answer) bool {
	switch {
	case a.Later != other.Later:
		return other.Later
	case a.Score != other.Score:
		return a.Score > other.Score
	default:
		return a.tie > other.tie
	}
}
