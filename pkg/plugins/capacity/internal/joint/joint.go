// SPDX-License-Identifier: Apache-2.0

// Package joint finds nodes for the pods of a gang together. Pods that are alike are of one kind, and only their numbers matter. The kinds have numbers
// from 0, and so have the nodes. In the same way, it finds domains for the subgroups of a gang: read "domain" for "node", and "subgroup" for "pod".
package joint

import (
	"encoding/binary"
	"errors"
	"slices"
)

// ErrGivenUp says that a search has not tried everything.
var ErrGivenUp = errors.New("the search for nodes has taken too long")

// Search is a gang and the nodes that may have its pods. All functions may return ErrGivenUp, which ends the search.
type Search struct {
	// Pods is the number of pods of each kind.
	Pods  []int
	Nodes int
	// Suits reports whether a node may have pods of a kind at all. Nil says that each node may.
	Suits func(node, kind int) bool
	// Fits reports whether a node has room for these numbers of pods of each kind, regardless of all other nodes. A node that has room for some pods
	// must have room for fewer of them.
	Fits func(node int, pods []int) (bool, error)
	// Enough reports whether the gang can start with these numbers of pods. More pods must be enough if fewer are.
	Enough func(pods []int) bool
	// Accepts reports whether all nodes can have their pods at the same time. It gets the numbers of pods on each node.
	Accepts func(on [][]int) (bool, error)
	// Refines says that Accepts may accept more pods although it has refused fewer, because it decides which of them start.
	Refines bool
	// Coupled says that nodes depend on one another, so that Accepts may prefer that a node has fewer pods than fit there.
	Coupled bool
	// Step is called for steps, so that a search ends although the answers of all nodes are known. Steps take longer if there are many kinds, and count as
	// several then.
	Step func(steps int) error
}

// kindsOfStep is the number of kinds that are looked at in about the time of a step.
const kindsOfStep = 100

// Run reports whether the gang can start. Accepts has got the numbers of pods on each node last. The error is ErrGivenUp.
func (s *Search) Run() (bool, error) {
	r := &run{Search: s, on: make([][]int, s.Nodes), placed: make([]int, len(s.Pods)), known: map[string]bool{}, inVain: map[string]bool{}}
	for node := range r.on {
		r.on[node] = make([]int, len(s.Pods))
	}
	found, _, err := r.from(0)
	return found, err
}

type run struct {
	*Search
	// on has the pods on each node, and placed their sum.
	on     [][]int
	placed []int
	// known has the answers of Fits. inVain has what was placed before a node if the next nodes do not have enough room for the others.
	known, inVain map[string]bool
	// looked counts the kinds that were looked at since the last step.
	looked int
}

// look counts that all kinds are looked at.
func (r *run) look() error {
	r.looked += len(r.Pods)
	steps := r.looked / kindsOfStep
	if steps == 0 {
		return nil
	}
	r.looked %= kindsOfStep
	return r.Step(steps)
}

// from gives pods to the nodes from a node on. asked reports whether Accepts was asked.
func (r *run) from(node int) (found, asked bool, err error) {
	if err := r.look(); err != nil {
		return false, false, err
	}
	if r.Enough(r.placed) {
		if found, err = r.Accepts(r.on); found || err != nil || !r.Refines {
			return found, true, err
		}
		asked = true
	}
	key := keyOf(node, r.placed)
	if node == r.Nodes || r.inVain[key] {
		return false, asked, nil
	}
	found, deeper, err := r.give(node, 0)
	if asked = asked || deeper; !found && !asked && err == nil {
		r.inVain[key] = true
	}
	return found, asked, err
}

// give gives pods of the kinds from a kind on to a node, as many as possible first, and goes on to the next node.
func (r *run) give(node, kind int) (found, asked bool, err error) {
	for kind < len(r.Pods) && !r.suits(node, kind) {
		r.looked++
		kind++
	}
	if err := r.Step(1); err != nil {
		return false, false, err
	}
	if kind == len(r.Pods) {
		if !r.Coupled {
			if more, err := r.fitsMore(node); more || err != nil {
				return false, false, err
			}
		}
		return r.from(node + 1)
	}
	most := 0
	for fits := true; most < r.Pods[kind]-r.placed[kind]; most++ {
		r.on[node][kind] = most + 1
		if fits, err = r.fits(node); err != nil {
			return false, false, err
		} else if !fits {
			break
		}
	}
	for n := most; n >= 0; n-- {
		r.on[node][kind] = n
		r.placed[kind] += n
		found, tried, err := r.give(node, kind+1)
		if found || err != nil {
			return found, true, err
		}
		r.placed[kind] -= n
		asked = asked || tried
	}
	return false, asked, nil
}

// fitsMore reports whether a node has room for one more pod. Nothing is lost if it gets this pod, too.
func (r *run) fitsMore(node int) (bool, error) {
	for kind := range r.Pods {
		if r.placed[kind] == r.Pods[kind] || !r.suits(node, kind) {
			continue
		}
		r.on[node][kind]++
		fits, err := r.fits(node)
		r.on[node][kind]--
		if fits || err != nil {
			return fits, err
		}
	}
	return false, nil
}

func (r *run) suits(node, kind int) bool { return r.Search.Suits == nil || r.Search.Suits(node, kind) }

func (r *run) fits(node int) (bool, error) {
	if err := r.look(); err != nil {
		return false, err
	}
	key := keyOf(node, r.on[node])
	if known, found := r.known[key]; found {
		return known, nil
	}
	fits, err := r.Fits(node, slices.Clone(r.on[node]))
	if err == nil {
		r.known[key] = fits
	}
	return fits, err
}

func keyOf(node int, pods []int) string {
	key := binary.AppendUvarint(nil, uint64(node))
	for _, n := range pods {
		key = binary.AppendUvarint(key, uint64(n))
	}
	return string(key)
}
