// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"
	"sync"
	"sync/atomic"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/lru"
)

const (
	// ordinaryLength is the total length up to which the selectors of a pod's claims are free. lengthOfUnit is the length, beyond that,
	// whose evaluation for one device takes the time of a unit.
	ordinaryLength = 4000
	lengthOfUnit   = 100
	// leastForSlow is the amount that a search with slow selectors must have before it begins, because nothing interrupts it earlier.
	leastForSlow = budgetOfJob / 2
	// effortOfSelector and effortOfLetter are the cost to compile a selector. effortOfCompiling is granted for compiling in each search.
	effortOfSelector, effortOfLetter, effortOfCompiling = 50, 2, 250
	// compiledLately is the number of claim selectors that are remembered as compiled. The cache of compiled selectors holds a hundred,
	// including the selectors of classes.
	compiledLately = 50
	// maxKnownSelectors is the number of selectors whose calls are remembered.
	maxKnownSelectors = 1000
	// maxKnownClaims is the number of claims whose selectors are summed up, and maxKnownBytes their size: users decide how large claims are.
	maxKnownClaims, maxKnownBytes = 10_000, 64 << 20
)

// knownSelectors remembers data about the selectors of claims, to compute it only once for all nodes.
type knownSelectors struct {
	// words holds the calls in selectors. compiled holds the recently compiled selectors.
	words, compiled *lru.Cache
	// claims has the sums of claims. A session looks at the same claims once for each pod and node.
	claims *lru.Cache
	// size is the size of claims.
	size atomic.Int64
}

// claimSelectors sums up the selectors of a claim.
type claimSelectors struct {
	length      int
	timed, slow bool
	// expressions has each selector once.
	expressions []string
	// needs are the least needs of the claim, once they are counted.
	counted sync.Once
	needs   *leastNeeds
}

// of returns the sum for a claim. Claims from informers do not change.
func (k *knownSelectors) of(claim *resourceapi.ResourceClaim) *claimSelectors {
	if known, found := k.claims.Get(claim); found {
		return known.(*claimSelectors)
	}
	sum, seen := &claimSelectors{}, map[string]bool{}
	for _, expression := range selectorsOf([]*resourceapi.ResourceClaim{claim}) {
		sum.length += len(expression)
		if seen[expression] {
			continue
		}
		seen[expression] = true
		known, found := k.words.Get(expression)
		if !found {
			known = wordsOf(expression)
			k.words.Add(expression, known)
		}
		sum.timed, sum.slow = sum.timed || known.(words).timed(), sum.slow || known.(words).slow()
		sum.expressions = append(sum.expressions, expression)
	}
	if size := int64(claim.Size()); k.size.Add(size) > maxKnownBytes {
		k.claims.Clear()
		k.size.Store(size)
	}
	k.claims.Add(claim, sum)
	return sum
}

// selectorCost is the possible cost of claim selectors besides steps. Selectors of classes are free, because administrators write them.
type selectorCost struct {
	// timed says that evaluation may take long without a step. slow says that compiling a selector, or evaluating it for one device, may take
	// long without interruption.
	timed, slow bool
	// compiling is the cost to compile selectors that were not compiled recently, beyond the granted cost.
	compiling int
	fresh     map[string]bool
}

func (k *knownSelectors) costOf(claims []*resourceapi.ResourceClaim) selectorCost {
	cost, length := selectorCost{fresh: map[string]bool{}}, 0
	for _, claim := range claims {
		sum := k.of(claim)
		length += sum.length
		cost.timed, cost.slow = cost.timed || sum.timed, cost.slow || sum.slow
	}
	cost.slow = cost.slow || length > ordinaryLength
	cost.timed = cost.timed || cost.slow
	return cost
}

// compile adds the cost to compile selectors. For a slow search, it is called when there is enough for the search to begin.
func (k *knownSelectors) compile(cost *selectorCost, claims []*resourceapi.ResourceClaim) {
	for _, claim := range claims {
		for _, expression := range k.of(claim).expressions {
			if _, found := k.compiled.Get(expression); !found && !cost.fresh[expression] {
				cost.compiling += effortOfSelector + effortOfLetter*len(expression)
				cost.fresh[expression] = true
			}
		}
	}
	cost.compiling = max(0, cost.compiling-effortOfCompiling)
}

// pay charges for the compilation of selectors. The error is errTooMuch if too little is left.
func (k *knownSelectors) pay(cost *selectorCost, effort *NodeEffort) error {
	if cost.compiling > 0 {
		if err := effort.spend(cost.compiling); err != nil {
			return err
		}
	}
	for expression := range cost.fresh {
		k.compiled.Add(expression, nil)
	}
	return nil
}

// checkSelectors returns an error if the selectors of a request are not evaluated, because they may take too long for one device.
func checkSelectors(selectors []resourceapi.DeviceSelector) error {
	for i, expression := range expressionsOf(selectors) {
		if err := wordsOf(expression).check(); err != nil {
			return fmt.Errorf("selector #%d: %w", i, err)
		}
	}
	return nil
}

// lengthOf returns the total length of the selectors in claims.
func lengthOf(claims []*resourceapi.ResourceClaim) int {
	n := 0
	for _, expression := range selectorsOf(claims) {
		n += len(expression)
	}
	return n
}

func selectorsOf(claims []*resourceapi.ResourceClaim) []string {
	var all []string
	for _, claim := range claims {
		for i := range claim.Spec.Devices.Requests {
			request := &claim.Spec.Devices.Requests[i]
			if request.Exactly != nil {
				all = append(all, expressionsOf(request.Exactly.Selectors)...)
			}
			for j := range request.FirstAvailable {
				all = append(all, expressionsOf(request.FirstAvailable[j].Selectors)...)
			}
		}
	}
	return all
}
