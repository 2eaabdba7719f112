// SPDX-License-Identifier: Apache-2.0

package accounting

import "github.com/devicequota/devicequota/pkg/ledger"

// Measure says what is counted.
type Measure uint8

const (
	// Used is what pods and claims hold.
	Used Measure = iota
	// GuaranteedIdle is what a queue is guaranteed and neither the queue nor those below it use.
	GuaranteedIdle
	// Waited is what pods and jobs of a queue request and do not have.
	Waited
)

// String returns the name that users see.
func (m Measure) String() string { return [...]string{"used", "guaranteedIdle", "waited"}[m] }

// Other stands for the namespaces and labels that do not get a series of their own.
const Other = "other"

// Series is what has a sum of its own. Series compare with ==.
type Series struct {
	Measure   Measure
	Queue     string
	Dimension ledger.Dimension
	// Namespace and Label are those of the pod that the queue is charged for. They are empty for everything but Used. Label is the value of the
	// label that the plugin's argument names.
	Namespace, Label string
}

// Sums has, by series, amounts times seconds.
type Sums map[Series]ledger.Amount

// Add adds an amount to a series. A sum that would overflow stays as it is: 10^29 units times seconds are more than any cluster has.
func (s Sums) Add(series Series, amount ledger.Amount) {
	if sum, err := s[series].Add(amount); err == nil && sum.Sign() != 0 {
		s[series] = sum
	}
}

// addTime adds an amount that was held for a time. A time that is not positive adds nothing.
func (s Sums) addTime(series Series, amount ledger.Amount, seconds int64) {
	if seconds <= 0 {
		return
	}
	if product, err := amount.Times(seconds); err == nil {
		s.Add(series, product)
	}
}
