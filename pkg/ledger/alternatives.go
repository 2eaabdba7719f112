// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/binary"
	"errors"
)

// ErrTooManyAlternatives says that a demand has too many combinations of alternatives to try them all. None of the combinations tried fits.
var ErrTooManyAlternatives = errors.New("too many combinations of alternatives: ask for fewer in one pod")

// ErrOpen says that a part with alternatives was charged or amended. Such a part can only be checked.
var ErrOpen = errors.New("a part with alternatives can only be checked: choose an alternative first")

// maxTries bounds the search for alternatives that fit together. A request has at most eight alternatives. Two requests with eight alternatives each
// need at most 72 tries, four need 4,680.
const maxTries = 5_000

// Choose returns the index of an alternative for each part, and -1 for a part without alternatives. With these
// alternatives, the demand fits the queue and its ancestors. If several choices fit, the preference of the first part
// decides, then the preference of the second part, and so on. If no choice fits, Choose returns the refusal of the
// preferred alternatives. The error is ErrOverflow or ErrTooManyAlternatives.
func (l *Ledger) Choose(q QueueID, d Demand) ([]int, *Refusal, error) {
	s := search{ledger: l, queue: q, demand: d, before: make(map[*Part]int, len(d)), choice: make([]int, len(d)), failed: map[string]bool{}}
	for i, part := range d {
		if _, listed := s.before[part]; !listed {
			s.before[part] = i
		}
	}
	fits, err := s.from(0, nil)
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
	// before has the first position of each part.
	before map[*Part]int
	choice []int
	tries  int
	// first is the first refusal found.
	first *Refusal
	// failed has the positions and sums from which the search has failed: alternatives often add up to the same.
	failed map[string]bool
}

// from decides part i and the parts after it. asked is the sum of the parts before it.
func (s *search) from(i int, asked Amounts) (bool, error) {
	for ; i < len(s.demand) && s.before[s.demand[i]] < i; i++ {
		s.choice[i] = s.choice[s.before[s.demand[i]]]
	}
	if i == len(s.demand) {
		return true, nil
	}
	part := s.demand[i]
	if !part.open() {
		s.choice[i] = -1
		if s.ledger.Charged(part) {
			return s.from(i+1, asked)
		}
		return s.with(i, asked, part.amounts)
	}
	key := keyOf(i, asked)
	if s.failed[key] {
		return false, nil
	}
	for a, alternative := range part.alternatives {
		s.choice[i] = a
		if fits, err := s.with(i, asked, part.amounts, alternative); err != nil || fits {
			return fits, err
		}
	}
	s.failed[key] = true
	return false, nil
}

func keyOf(i int, asked Amounts) string {
	key := binary.LittleEndian.AppendUint64(nil, uint64(i))
	for _, e := range asked {
		key = e.Amount.Append(binary.LittleEndian.AppendUint64(key, uint64(e.Dimension)))
	}
	return string(key)
}

// with tries amounts for part i and continues with the next part.
func (s *search) with(i int, asked Amounts, amounts ...Amounts) (bool, error) {
	if s.tries++; s.tries > maxTries {
		return false, ErrTooManyAlternatives
	}
	sum := asked.copied()
	for _, more := range amounts {
		var err error
		if sum, err = sum.PlusAll(more); err != nil {
			return false, err
		}
	}
	refusal, err := s.ledger.fits(s.queue, sum)
	if s.first == nil {
		s.first = refusal
	}
	if err != nil || refusal != nil {
		return false, err
	}
	return s.from(i+1, sum)
}
