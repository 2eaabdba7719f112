// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	corev1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
)

// wholes says which gangs may be evicted as a whole.
type wholes int

const (
	noGangs wholes = iota
	// tightGangs cannot lose a single pod.
	tightGangs
	allGangs
)

// preemptor is a job that asks for room by one rule.
type preemptor struct {
	*Solver
	rule  Rule
	job   *api.JobInfo
	queue ledger.QueueID
	whole wholes
	units
	// domain has the nodes that a plan may use.
	domain hypernodes.Domain
	// suitable has the nodes that suit the pods of each role, and roles those in the domain.
	suitable map[string][]*api.NodeInfo
	roles    map[string]*places
	// effort is the remaining effort in number of pods. Each removal of a pod to see what becomes free counts, and each place under
	// consideration.
	effort int
	// expired reports whether there is no time for more. It is nil if only the effort counts. unfinished says that something was not tried.
	expired    func() bool
	unfinished bool
	// filters is the remaining number of nodes that may be filtered, for all domains.
	filters int
	// replays is the number of attempts to place pods on nodes when looking for victims that can stay.
	replays int
	// granted is the number of pods with places for which more effort was granted.
	granted int
	// tasks are the waiting pods that may have places, in the order of the session. likenesses has what groups are alike in.
	tasks      []*api.TaskInfo
	likenesses map[api.SubJobID]string
	// version counts the changes of the plan. After a change, candidates are asked for again.
	version int
	rights  rights
	// spare has what gangs have beyond their minimum, in the version spareIn.
	spare   map[api.JobID]*spare
	spareIn int
}

// effortOfPod is spent for each pod that asks for a place.
const effortOfPod = 4

// maxEffort is the effort for one job in a session. effortOfNode is added for each node, effortOfOther for each running pod, and effortOfStep for each
// pod of the job that gets a place. To look at all nodes for one role of pods takes about two for each node. So pods without a place cannot take long, no matter how many there are. One unit of effort takes some microseconds.
const (
	maxEffort     = 40_000
	effortOfNode  = 20
	effortOfOther = 4
	effortOfStep  = 1000
)

// maxEffort returns the effort for a job before any of its pods has a place.
func (s *Solver) maxEffort() int {
	if s.others == 0 {
		for _, job := range s.Session.Jobs {
			s.others += len(job.Tasks) - len(job.TaskStatusIndex[api.Pending])
		}
	}
	return maxEffort + effortOfNode*len(s.Session.NodeList) + effortOfOther*s.others
}

// preemptorFor returns a job that asks by a rule, nil if its queue is not known.
func (s *Solver) preemptorFor(rule Rule, job *api.JobInfo) *preemptor {
	queue, found := s.Snapshot.Ledger.Queue(string(job.Queue))
	if !found {
		return nil
	}
	return &preemptor{Solver: s, rule: rule, job: job, queue: queue, effort: s.maxEffort()}
}

// begin forgets which nodes suit the pods.
func (a *preemptor) begin() {
	a.suitable, a.filters, a.replays = map[string][]*api.NodeInfo{}, a.maxEffort(), maxReplays
	a.likenesses = map[api.SubJobID]string{}
}

// exhausted reports whether there is no effort, or no time, to try more.
func (a *preemptor) exhausted() bool {
	if a.effort > 0 && (a.expired == nil || !a.expired()) {
		return false
	}
	a.unfinished = true
	return true
}

// spend notes spent effort.
func (a *preemptor) spend(effort int) {
	a.effort -= effort
	a.spent += effort
}

// grant adds effort for a pod that has got a place. It does so once for each pod, even if the pods are placed in several orders.
func (a *preemptor) grant() {
	if a.granted < len(a.job.Tasks) {
		a.granted++
		a.effort += effortOfStep
	}
}

// MayAsk reports whether a pod may take the place of other pods.
func MayAsk(task *api.TaskInfo) bool {
	return !task.SchGated && (task.Pod.Spec.PreemptionPolicy == nil || *task.Pod.Spec.PreemptionPolicy != corev1.PreemptNever)
}

// asked returns the whole charge of a pod on a node, as a demand for checks.
func (a *preemptor) asked(pod *demand.Pod, node *api.NodeInfo) ledger.Demand {
	asked := pod.Checked
	if cards := a.CardsOn(pod, node.Node); cards != nil {
		asked = append(asked[:len(asked):len(asked)], cards)
	}
	for _, claim := range pod.Claims {
		asked = append(asked[:len(asked):len(asked)], claim.Choices...)
	}
	return asked
}

// unpaid sums up the parts that a queue does not pay for yet. For alternatives, the largest amount in each dimension counts.
func unpaid(books *ledger.Ledger, queue ledger.QueueID, asked ledger.Demand) ledger.Amounts {
	var sum ledger.Amounts
	for _, part := range asked {
		if books.PaidFor(queue, part) {
			continue
		}
		if total, err := sum.PlusAll(most(part)); err == nil {
			sum = total
		}
	}
	return sum
}

// most returns the largest amounts of a part in each dimension.
func most(part *ledger.Part) ledger.Amounts {
	amounts := part.Amounts()
	var alternatives ledger.Amounts
	for _, alternative := range part.Alternatives() {
		alternatives = alternatives.Max(alternative)
	}
	if total, err := amounts.PlusAll(alternatives); err == nil {
		return total
	}
	return amounts
}
