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
	// effort bounds the sets of victims that are tried.
	effort int
}

// maxEffort is how many sets of victims are tried for one job in a session, and effortOfPod how many more for each of its pods. A
// set takes some tens of microseconds.
const (
	maxEffort   = 20_000
	effortOfPod = 32
)

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
