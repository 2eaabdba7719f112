// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/lru"
)

const (
	// ordinaryLength is how long the selectors of a pod's claims may be together before they cost anything, and lengthOfUnit how much of the
	// rest is evaluated for one device in the time of a unit.
	ordinaryLength = 4000
	lengthOfUnit   = 100
	// leastForSlow is what a search with slow selectors has for itself before it begins: nothing interrupts it before it has spent that.
	leastForSlow = budgetOfJob / 2
	// effortOfSelector and effortOfLetter are what it takes to compile a selector, and effortOfCompiling is granted for that in each search.
	effortOfSelector, effortOfLetter, effortOfCompiling = 50, 2, 250
	// compiledLately is for how many selectors of claims it is remembered that they have been compiled. The cache of compiled selectors holds a
	// hundred, those of classes among them.
	compiledLately = 50
	// maxKnownSelectors is for how many selectors it is remembered what they call.
	maxKnownSelectors = 1000
)

// knownSelectors is what is remembered of the selectors of claims, so that it is not found out anew for each node.
type knownSelectors struct {
	// words has what selectors call, and compiled those that have been compiled lately.
	words, compiled *lru.Cache
}

func newKnownSelectors() knownSelectors {
	return knownSelectors{words: lru.New(maxKnownSelectors), compiled: lru.New(compiledLately)}
}

// selectorCost is what the selectors of claims may cost besides steps. Those of classes are written by administrators.
type selectorCost struct {
	// timed says that they may take long without a step, and slow that it may take long to compile one, or to evaluate it for one device, which
	// nothing interrupts.
	timed, slow bool
	// compiling is what it costs to compile those that have not been compiled lately, beyond what is granted.
	compiling int
	fresh     map[string]bool
}

func (k *knownSelectors) costOf(claims []*resourceapi.ResourceClaim) selectorCost {
	cost := selectorCost{slow: lengthOf(claims) > ordinaryLength, fresh: map[string]bool{}}
	for _, expression := range selectorsOf(claims) {
		known, found := k.words.Get(expression)
		if !found {
			known = wordsOf(expression)
			k.words.Add(expression, known)
		}
		cost.timed, cost.slow = cost.timed || known.(words).timed(), cost.slow || known.(words).slow()
		if _, found := k.compiled.Get(expression); !found && !cost.fresh[expression] {
			cost.compiling += effortOfSelector + effortOfLetter*len(expression)
			cost.fresh[expression] = true
		}
	}
	cost.timed = cost.timed || cost.slow
	cost.compiling = max(0, cost.compiling-effortOfCompiling)
	return cost
}

// pay charges for the compilation of selectors. The error is errTooMuch if there is too little.
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

// checkSelectors returns an error if the selectors of a request may take so long for one device that they are not evaluated.
func checkSelectors(selectors []resourceapi.DeviceSelector) error {
	for i, expression := range expressionsOf(selectors) {
		if err := wordsOf(expression).check(); err != nil {
			return fmt.Errorf("selector #%d: %w", i, err)
		}
	}
	return nil
}

// lengthOf is how long the selectors in claims are together.
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
