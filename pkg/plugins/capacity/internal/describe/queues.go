// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/visibility"
)

// Queues returns the state of all queues, parents before their children.
func (s *Session) Queues() []v1alpha1.Queue {
	paths := map[string][]string{}
	queues := make([]v1alpha1.Queue, 0, len(s.Snapshot.Queues))
	places := make(map[string]int, len(s.Snapshot.Queues))
	for _, info := range s.Snapshot.Queues {
		paths[info.Name] = s.pathOf(info.Name)
		queues = append(queues, v1alpha1.Queue{Name: info.Name, State: string(info.Queue.Status.State)})
	}
	slices.SortFunc(queues, func(a, b v1alpha1.Queue) int { return slices.Compare(paths[a.Name], paths[b.Name]) })
	for i := range queues {
		q := &queues[i]
		places[q.Name] = i
		if path := paths[q.Name]; len(path) > 1 {
			q.Parent = path[len(path)-2]
		}
		q.Figures = s.figuresOf(q.Name)
	}
	s.addProblems(queues, places)
	s.countWorkloads(queues, places)
	return queues
}

// pathOf returns a queue and its ancestors, the root first. A queue without a place in the hierarchy is alone.
func (s *Session) pathOf(name string) []string {
	id, found := s.Snapshot.Ledger.Queue(name)
	if !found {
		return []string{name}
	}
	path := slices.Clone(s.Snapshot.Ledger.Path(id))
	slices.Reverse(path)
	return path
}

// addProblems adds the problems of each queue.
func (s *Session) addProblems(queues []v1alpha1.Queue, places map[string]int) {
	for problem, message := range s.Snapshot.Problems {
		if i, found := places[problem.Queue]; found {
			queues[i].Problems = append(queues[i].Problems, v1alpha1.Problem{Reason: problem.Reason, Message: message, Harmless: problem.Harmless})
		}
	}
	for i := range queues {
		slices.SortFunc(queues[i].Problems, func(a, b v1alpha1.Problem) int { return cmp.Compare(a.Reason, b.Reason) })
	}
}

func (s *Session) countWorkloads(queues []v1alpha1.Queue, places map[string]int) {
	for _, job := range s.Snapshot.Jobs {
		i, found := places[string(job.Queue)]
		if !found || job.PodGroup == nil {
			continue
		}
		q := &queues[i]
		if q.Jobs == nil {
			q.Jobs = map[string]int32{}
		}
		q.Jobs[string(job.PodGroup.Status.Phase)]++
		for status, tasks := range job.TaskStatusIndex {
			switch {
			case status == api.Pending || status == api.Pipelined:
				q.WaitingPods += int32(len(tasks))
			case api.AllocatedStatus(status):
				q.RunningPods += int32(len(tasks))
			}
		}
	}
}

// Standings returns the figures of a queue and its ancestors for the requested dimensions.
func (s *Session) Standings(queue ledger.QueueID, asked ledger.Amounts) []v1alpha1.Standing {
	var all []v1alpha1.Standing
	for _, name := range s.Snapshot.Ledger.Path(queue) {
		id, _ := s.Snapshot.Ledger.Queue(name) // a path has queues of the ledger
		begin := len(all)
		for _, e := range asked {
			if e.Amount.Sign() > 0 {
				all = append(all, v1alpha1.Standing{Queue: name, Figures: s.figures(id, e.Dimension)})
			}
		}
		slices.SortFunc(all[begin:], func(a, b v1alpha1.Standing) int { return CompareDimensions(a.Figures.Dimension, b.Figures.Dimension) })
	}
	return all
}

// figuresOf returns the figures of a queue in the dimensions that it limits, deserves, uses, or waits for.
func (s *Session) figuresOf(name string) []v1alpha1.Figures {
	books := s.Snapshot.Ledger
	queue, found := books.Queue(name)
	if !found {
		return nil
	}
	var all []v1alpha1.Figures
	for o := range ledger.Ordinal(s.Snapshot.Dimensions.Len()) {
		listed := books.Capability(queue, o).Set || books.Deserved(queue, o).Set || books.Guarantee(queue, o).Amount.Sign() > 0
		inUse := books.Balance(queue, ledger.Request, o).Sign() != 0 || books.Balance(queue, ledger.Either, o).Sign() != 0 ||
			s.Snapshot.Held().Used(queue, o).Sign() != 0
		if listed || inUse {
			all = append(all, s.figures(queue, o))
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.Figures) int { return CompareDimensions(a.Dimension, b.Dimension) })
	return all
}

// figures returns the figures of a queue in one dimension.
func (s *Session) figures(queue ledger.QueueID, o ledger.Ordinal) v1alpha1.Figures {
	books, held, dimension := s.Snapshot.Ledger, s.Snapshot.Held(), s.Snapshot.Dimensions.Dimension(o)
	balance := func(account ledger.Account) resource.Quantity {
		return Quantity(dimension, books.Balance(queue, account, o))
	}
	limit := func(l ledger.Limit) *resource.Quantity {
		if !l.Set {
			return nil
		}
		quantity := Quantity(dimension, l.Amount)
		return &quantity
	}
	figures := v1alpha1.Figures{
		Dimension: Dimension(dimension),
		Allocated: Quantity(dimension, held.Balance(queue, ledger.Allocated, o)),
		Releasing: balance(ledger.Releasing), Promised: balance(ledger.Pipelined), Inqueue: balance(ledger.Inqueue),
		Elastic: balance(ledger.Elastic), Request: balance(ledger.Request), Either: balance(ledger.Either),
		Capability: limit(books.Capability(queue, o)), Deserved: limit(books.Deserved(queue, o)), Limit: limit(books.Limit(queue, o)),
	}
	if guarantee := books.Guarantee(queue, o); guarantee.Amount.Sign() > 0 {
		figures.Guarantee = limit(guarantee)
	}
	if figures.Limit != nil {
		figures.LimitedBy = s.limitedBy(queue, o)
	}
	return figures
}

// limitedBy returns the queue with the least capability, from a queue to the root. Of several, it returns the lowest. It is empty if
// no queue has a capability.
func (s *Session) limitedBy(queue ledger.QueueID, o ledger.Ordinal) string {
	var least ledger.Limit
	by := ""
	for _, name := range s.Snapshot.Ledger.Path(queue) {
		id, _ := s.Snapshot.Ledger.Queue(name) // a path has queues of the ledger
		if own := s.Snapshot.Ledger.Capability(id, o); own.Set && (!least.Set || own.Amount.Cmp(least.Amount) < 0) {
			least, by = own, name
		}
	}
	return by
}

// Allocated returns what each queue has allocated of devices and cards, and of the resources that it limits itself. The history consists of
// these values.
func (s *Session) Allocated() map[visibility.SeriesKey]float64 {
	values := map[visibility.SeriesKey]float64{}
	for _, info := range s.Snapshot.Queues {
		queue, found := s.Snapshot.Ledger.Queue(info.Name)
		if !found {
			continue
		}
		for o := range ledger.Ordinal(s.Snapshot.Dimensions.Len()) {
			dimension := s.Snapshot.Dimensions.Dimension(o)
			allocated := s.Snapshot.Held().Balance(queue, ledger.Allocated, o)
			listed := s.Snapshot.Ledger.Capability(queue, o).Set || s.Snapshot.Ledger.Deserved(queue, o).Set
			if listed || dimension.Kind != ledger.Resource && allocated.Sign() > 0 {
				values[visibility.SeriesKey{Queue: info.Name, Dimension: Dimension(dimension)}] = allocated.Float(ledger.Whole)
			}
		}
	}
	return values
}
