// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"slices"
)

// ErrTooManyAlternatives says that a demand has too many combinations of alternatives to try them all. None of the combinations tried fits.
var ErrTooManyAlternatives = errors.New("too many combinations of alternatives: ask for fewer in one pod")

// ErrOpen says that a part with alternatives was charged or amended. Such a part can only be checked.
var ErrOpen = errors.New("a part with alternatives can only be checked: choose an alternative first")

// maxTries bounds the search for alternatives that fit together. A request has at most eight alternatives. Two requests with eight alternatives each
// need at most 72 tries, four need 4,680. A try compares each part with all parts before it. With many parts, a try counts one more for every 1024
// comparisons, because a pod may ask for thousands of parts.
const maxTries, looksOfTry = 10_000, 1024

// Choose returns the index of an alternative for each part, and -1 for a part without alternatives. With these
// alternatives, the demand fits the queue and its ancestors. If several choices fit, the preference of the first part
// decides, then the preference of the second part, and so on. If no choice fits, Choose returns the refusal of the
// preferred alternatives. The error is ErrOverflow or ErrTooManyAlternatives.
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
	// chosen holds the parts decided so far, each with the alternative in choice.
	chosen Demand
	choice []int
	tries  int
	// first is the first refusal found.
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

// with tries a decision and continues with the next part. It undoes the decision if the remaining parts do not fit.
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
