// SPDX-License-Identifier: Apache-2.0

package demand

import "github.com/devicequota/devicequota/pkg/ledger"

// FitsInqueue returns nil if the queue has room for the needs of a job. Otherwise, it returns the refusal.
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

// Divide returns the amounts that choices take if pods get their preferred alternatives as far as the queue has room.
func Divide(books *ledger.Ledger, queue ledger.QueueID, choices []Choice) (ledger.Amounts, error) {
	var taken ledger.Amounts
	for _, choice := range choices {
		left, last := choice.Pods, len(choice.Alternatives)-1
		for i, alternative := range choice.Alternatives {
			pods := left
			var err error
			if i < last {
				pods, err = books.RoomInqueue(queue, taken, alternative, left)
			}
			var more ledger.Amounts
			if err == nil {
				more, err = alternative.Times(pods)
			}
			if err == nil {
				taken, err = taken.PlusAll(more)
			}
			if err != nil {
				return nil, err
			}
			left -= pods
		}
	}
	return taken, nil
}

// fitsChoice returns a refusal if the alternatives of a choice together lack room for all choosing pods. The result is
// exact if the alternatives are of different classes, the usual case, and no other pods choose among the same classes.
// Otherwise, it may admit a job whose pods have to wait.
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
