package ledger

import (
	"errors"
	"slices"
)

// ErrTooManyAlternatives says that a demand has so many combinations of alternatives that none
// was found to fit within reason. Whether one fits is not known.
var ErrTooManyAlternatives = errors.New("too many combinations of alternatives, ask for fewer in one pod")

// ErrOpen says that a part was to be charged whose alternative has not been chosen.
var ErrOpen = errors.New("an alternative must be chosen before it is charged")

// mostTries bounds the search for alternatives that fit together. Two requests with eight
// alternatives each, the most that one request may have, need 72 tries at most, four need 4,680.
const mostTries = 10_000

// Choose returns for each part of a demand the index of the alternative with which the whole
// demand fits the queue and its ancestors, -1 for parts that have none to choose from. Where
// several choices fit, it is the first one, by the first part's preference, then the second
// part's, and so on. When none fits, there is a refusal, that of the first alternatives. The
// error is ErrOverflow or ErrTooManyAlternatives.
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

// search goes through combinations of alternatives, depth first.
type search struct {
	ledger *Ledger
	queue  QueueID
	demand Demand
	// chosen has the parts up to some point, with their alternatives decided by choice.
	chosen Demand
	choice []int
	tries  int
	// first is the first refusal that was met.
	first *Refusal
}

// from decides part i and those after it.
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

// with tries a decision and goes on from there. It leaves the decision in place only if all
// that follows fits, too.
func (s *search) with(part *Part, alternative int) (bool, error) {
	if s.tries++; s.tries > mostTries {
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
