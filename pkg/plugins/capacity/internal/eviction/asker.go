// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// asker is a job that asks for room, by one rule.
type asker struct {
	*Solver
	rule  Rule
	job   *api.JobInfo
	queue ledger.QueueID
	// whole says that gangs may be evicted as a whole.
	whole bool
	units
	// roles has where the pods of each role may go.
	roles map[string]*places
	// effort is how many more pods are looked at: each time that one is left out to see what is free then, and each place that is thought about.
	effort int
	// granted is for how many pods with places there has been more of it.
	granted int
	// version counts the changes of the plan, so that quotes are asked for again when something has changed.
	version int
	rights  rights
}

// maxEffort is how much effort there is for one job in a session, effortOfOther how much more for each pod that runs, and effortOfStep for each pod
// of the job that gets a place: pods for which there is none are not to take long, however many there are. A unit of it takes some microseconds.
const (
	maxEffort     = 200_000
	effortOfOther = 4
	effortOfStep  = 1000
)

// maxEffort returns how much effort there is for a job before any of its pods has a place.
func (s *Solver) maxEffort() int {
	if s.others == 0 {
		for _, job := range s.Session.Jobs {
			s.others += len(job.Tasks) - len(job.TaskStatusIndex[api.Pending])
		}
	}
	return maxEffort + effortOfOther*s.others
}

// spend notes effort.
func (a *asker) spend(effort int) {
	a.effort -= effort
	a.spent += effort
}

// grant gives more effort for a pod that has got a place. That is done once for each pod, in however many orders they are placed.
func (a *asker) grant() {
	if a.granted < len(a.job.Tasks) {
		a.granted++
		a.effort += effortOfStep
	}
}

// MayAsk reports whether a pod may take the place of others.
func MayAsk(task *api.TaskInfo) bool {
	return !task.SchGated && (task.Pod.Spec.PreemptionPolicy == nil || *task.Pod.Spec.PreemptionPolicy != corev1.PreemptNever)
}

// asked returns all that a pod would be charged on a node, as a demand for checks.
func (a *asker) asked(pod *demand.Pod, node *api.NodeInfo) ledger.Demand {
	asked := pod.Checked
	if cards := a.CardsOn(pod, node.Node); cards != nil {
		asked = append(asked[:len(asked):len(asked)], cards)
	}
	for _, claim := range pod.Claims {
		asked = append(asked[:len(asked):len(asked)], claim.Choices...)
	}
	return asked
}

// uncharged adds up what nobody is charged for yet. Of alternatives, the one counts that asks for most, in each dimension.
func uncharged(books *ledger.Ledger, asked ledger.Demand) ledger.Amounts {
	var sum ledger.Amounts
	for _, part := range asked {
		if books.Charged(part) {
			continue
		}
		if total, err := sum.PlusAll(most(part)); err == nil {
			sum = total
		}
	}
	return sum
}

// most is what a part asks for at most in each dimension.
func most(part *ledger.Part) ledger.Amounts {
	amounts := part.Amounts()
	var alternatives ledger.Amounts
	for _, alternative := range part.Alternatives() {
		for _, e := range alternative {
			i := slices.IndexFunc(alternatives, func(known ledger.Entry) bool { return known.Dimension == e.Dimension })
			switch {
			case i < 0:
				alternatives = append(alternatives, e)
			case alternatives[i].Amount.Cmp(e.Amount) < 0:
				alternatives[i] = e
			}
		}
	}
	if total, err := amounts.PlusAll(alternatives); err == nil {
		return total
	}
	return amounts
}
