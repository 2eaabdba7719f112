// SPDX-License-Identifier: Apache-2.0

package demand

import "github.com/devicequota/devicequota/pkg/ledger"

// FitsInqueue says why a queue has no room for what a job needs at least, nil if it has.
func (c *Counter) FitsInqueue(books *ledger.Ledger, queue ledger.QueueID, needs Needs) (*ledger.Refusal, error) {
	amounts := needs.Amounts
	if c.options.CardUnlimitedCPUMemory && needs.Any {
		amounts = c.Resources.WithoutCPUMemory(amounts)
	}
	refusal, err := books.FitsInqueue(queue, amounts)
	for i := 0; i < len(needs.Choices) && refusal == nil && err == nil; i++ {
		refusal, err = fitsChoice(books, queue, amounts, needs.Choices[i])
	}
	if refusal == nil && err == nil {
		_, refusal, err = books.FitsInqueueSplit(queue, amounts, needs.Splits)
	}
	return refusal, err
}

// fitsChoice says why the alternatives of a choice have no room for all pods that choose, all alternatives together. The
// answer is exact if the alternatives are of different classes, as they mostly are, and nobody else
// chooses among the same. Otherwise, it may admit a job whose pods have to wait.
func fitsChoice(books *ledger.Ledger, queue ledger.QueueID, amounts ledger.Amounts, choice Choice) (*ledger.Refusal, error) {
	left := choice.Pods
	last := len(choice.Alternatives) - 1
	for _, alternative := range choice.Alternatives[:last] {
		room, err := books.RoomInqueue(queue, amounts, alternative, left)
		if err != nil {
			return nil, err
		}
		left -= room
	}
	return books.FitsInqueueTimes(queue, amounts, choice.Alternatives[last], left)
}
