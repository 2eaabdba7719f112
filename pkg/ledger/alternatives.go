// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"slices"
)

// ErrTooManyAlternatives says that a demand has more combinations of alternatives than are tried.
// None of those that were tried fits.
var ErrTooManyAlternatives = errors.New("too many combinations of alternatives: ask for fewer in one pod")

// ErrOpen says that a part with alternatives was charged or amended. Such a part can only be checked.
var ErrOpen = errors.New("a part with alternatives can only be checked: choose an alternative first")

// maxTries bounds the search for alternatives that fit together. A request has at most eight
// alternatives. Two requests with eight alternatives each need at most 72 tries, four need 4,680. A try looks for each part among those before it, so that
// one with many parts counts as one more for each 1024 of these looks. A pod may ask for thousands.
const maxTries, looksOfTry = 10_000, 1024

// Choose returns, for each part of a demand, the index of the alternative with which the whole demand
// fits the queue and its ancestors, and -1 for a part without alternatives. If several choices fit,
// the preference of the first part decides, then that of the second part, and so on. If no choice
// fits, Choose returns the refusal of the preferred alternatives. The error is ErrOverflow or
// ErrTooManyAlternatives.
func (l *Ledger) Choose(q QueueID, d Demand) ([]int, *Refusal, error) {
	s := search{ledger: l, queue: q, demand: d, chosen: make(Demand, 0, len(d))}
	fits, err := s.from(0)
	switch {
	case err != nil:
		return nil, nil, err
	case !fits:
		return nil, s.first, nil
	default:
		return s.choice, nil, nil
	}
}

// search tries combinations of alternatives, depth first.
type search struct {
	ledger *Ledger
	queue  QueueID
	demand Demand
	// chosen holds the parts that are decided so far, each with the alternative in choice.
	chosen Demand
	choice []int
	tries  int
	// first is the first refusal of the search.
	first *Refusal
}

// from decides part i and the parts after it.
func (s *search) from(i int) (bool, error) {
	if i == len(s.demand) {
		return true, nil
	}
	part := s.demand[i]
	if !part.open() {
		return s.with(part, -1)
	}
	if before := slices.Index(s.demand[:i], part); before >= 0 {
		return s.with(s.chosen[before], s.choice[before])
	}
	for a, alternative := range part.alternatives {
		sum, err := part.Amounts().PlusAll(alternative)
		if err != nil {
			return false, err
		}
		if fits, err := s.with(&Part{amounts: sum}, a); err != nil || fits {
			return fits, err
		}
	}
	return false, nil
}

// with tries a decision and continues with the next part. The decision stays in place only if all
// parts after it fit, too.
func (s *search) with(part *Part, alternative int) (bool, error) {
	if s.tries += 1 + len(s.chosen)*len(s.chosen)/looksOfTry; s.tries > maxTries {
		return false, ErrTooManyAlternatives
	}
	s.chosen, s.choice = append(s.chosen, part), append(s.choice, alternative)
	refusal, err := s.ledger.fitsClosed(s.queue, s.chosen)
	if s.first == nil {
		s.first = refusal
	}
	fits := err == nil && refusal == nil
	if fits {
		fits, err = s.from(len(s.chosen))
	}
	if err != nil || !fits {
		s.chosen, s.choice = s.chosen[:len(s.chosen)-1], s.choice[:len(s.choice)-1]
	}
	return fits, err
}
