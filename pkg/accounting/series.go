// SPDX-License-Identifier: Apache-2.0

package accounting

import "github.com/devicequota/devicequota/pkg/ledger"

// Measure says which amounts are counted.
type Measure uint8

const (
	// Used is what pods and claims hold.
	Used Measure = iota
	// GuaranteedIdle is what a queue is guaranteed and neither the queue nor those below it use.
	GuaranteedIdle
	// Waited is what pods and jobs of a queue request and do not have. Pods that may choose wait for each choice.
	Waited
)

// String returns the name that users see.
func (m Measure) String() string { return [...]string{"used", "guaranteedIdle", "waited"}[m] }

// Other stands for the namespaces and labels that do not get a series of their own.
const Other = "other"

// Series identifies a sum. Series are comparable with ==.
type Series struct {
	Measure   Measure
	Queue     string
	Dimension ledger.Dimension
	// Namespace and Label describe the pod for which the queue is charged. They are empty for all measures but Used. Label is the value of the label
	// in the plugin's argument.
	Namespace, Label string
}

// Sums has amounts times seconds by series.
type Sums map[Series]ledger.Amount

// Add adds an amount to a series. A sum that would overflow does not change, because no cluster reaches 10^29 units times seconds.
func (s Sums) Add(series Series, amount ledger.Amount) {
	if sum, err := s[series].Add(amount); err == nil && sum.Sign() != 0 {
		s[series] = sum
	}
}

// addTime adds an amount that was held for some seconds. It ignores seconds that are not positive.
func (s Sums) addTime(series Series, amount ledger.Amount, seconds int64) {
	if seconds <= 0 {
		return
	}
	if product, err := amount.Times(seconds); err == nil {
		s.Add(series, product)
	}
}
