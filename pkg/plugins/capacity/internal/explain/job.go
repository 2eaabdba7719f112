// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/describe"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
	"github.com/devicequota/devicequota/pkg/refusals"
)

// explainJob explains a job: the checks for its admission, and why its pods wait.
func (s *Session) explainJob(job *api.JobInfo) *v1alpha1.Explanation {
	told := &v1alpha1.Explanation{Queue: string(job.Queue), State: StateOfJob(job), Charged: s.Described.Charged(job), LastEviction: s.Elastic.LastEviction(job)}
	var checks Checks
	if job.IsPending() || Gang(job) != nil {
		s.tellMinimum(told, job)
	}
	if job.IsPending() {
		s.checkJob(&checks, job)
		checks.Add(AdmittedCheck, s.notAdmitted(job))
	}
	if told.State != v1alpha1.Waiting {
		return told
	}
	told.Pods = s.explainPods(job)
	cause, task := s.Report.WhyJob(job.UID)
	if !job.IsPending() {
		s.checkTopology(&checks, job)
		checks.Add(GangCheck, Gang(job))
	}
	if cause == nil && len(told.Pods) > 0 {
		told.Checks, told.Cause = checks.Made, causeOf(told.Pods)
	} else {
		told.Checks, told.Cause = checks.End(cause)
	}
	if task == nil {
		task = anyOf(job.TaskStatusIndex[api.Pending])
	}
	s.tellOthers(told, job, task, cause)
	told.Supplies = s.suppliesFor(job, task)
	return told
}

// nearestTakes limits how long an answer looks for the HyperNode that could have the most pods of a job. A large job takes seconds, and people ask again.
const nearestTakes = 100 * time.Millisecond

// checkTopology checks whether some HyperNode could have all waiting pods of a job with a hard network topology, and whether some could have those of each of its
// groups. If that takes too long, there is no check. If the groups have topologies, it can only fail: which groups could be where depends on each other.
func (s *Session) checkTopology(checks *Checks, job *api.JobInfo) {
	if !hypernodes.Known(s.Volcano, job) {
		return
	}
	begun := s.Elastic.Clock.Now()
	answers := s.Elastic.Solver().Nearest(job, func() bool { return s.Elastic.Clock.Since(begun) >= nearestTakes })
	lacking := slices.IndexFunc(answers, func(n eviction.Nearest) bool { return n.Pods < n.Waiting })
	switch {
	case lacking >= 0:
		checks.Add(TopologyCheck, apart(answers[lacking]))
	case len(answers) > 0 && !job.ContainsNetworkTopologyInSubJob():
		checks.Add(TopologyCheck, nil)
	}
}

// causeOf returns the reason of most pods that is not only that of other pods of the gang.
func causeOf(pods []v1alpha1.PodsAnswer) *v1alpha1.Refusal {
	for i := range pods {
		if pods[i].Cause.Reason != "" {
			return &pods[i].Cause
		}
	}
	return &pods[0].Cause
}

// tellMinimum adds the minimum of a job, with the first of its alternatives, and the standings of its queues while it is not let in.
func (s *Session) tellMinimum(told *v1alpha1.Explanation, job *api.JobInfo) {
	queue, found := s.Snapshot.Ledger.Queue(string(job.Queue))
	if !found {
		return
	}
	needs, _ := s.Snapshot.Needs(job) // a check says what cannot be counted
	minimum := needs.First()
	told.Asked = s.Described.Amounts(minimum)
	if job.IsPending() {
		told.Standings = s.Described.Standings(queue, minimum)
	}
}

// checkJob makes the admission checks of a job.
func (s *Session) checkJob(checks *Checks, job *api.JobInfo) {
	info, found := s.Volcano.Queues[job.Queue]
	if !found {
		checks.Add(QueueCheck, refusals.QueueMissing{Queue: string(job.Queue)})
		return
	}
	queue, refusal := s.Snapshot.Queue(info)
	if checks.Add(QueueCheck, refusal); refusal != nil {
		return
	}
	for _, check := range s.Checks.EachOfJob(s.Checks.Ask(queue, job)) {
		checks.Add(check.Name, check.Refusal)
	}
}

// explainPods explains why the pods of a job wait. Pods with the same reason are grouped.
func (s *Session) explainPods(job *api.JobInfo) []v1alpha1.PodsAnswer {
	var pods Pods
	others := newPending(job)
	for _, task := range sortedTasks(job.TaskStatusIndex[api.Pending]) {
		if cause := s.Cause(job, task); cause != nil {
			pods.Add(task, *describe.Refusal(cause))
		} else {
			pods.Add(task, v1alpha1.Refusal{Message: others.why(task)})
		}
	}
	return pods.Answers()
}

func sortedTasks(tasks map[api.TaskID]*api.TaskInfo) []*api.TaskInfo {
	return slices.SortedFunc(maps.Values(tasks), func(a, b *api.TaskInfo) int { return strings.Compare(a.Name, b.Name) })
}

func anyOf(tasks map[api.TaskID]*api.TaskInfo) *api.TaskInfo {
	if sorted := sortedTasks(tasks); len(sorted) > 0 {
		return sorted[0]
	}
	return nil
}

// Pods collects why the pods of a job wait. Pods with the same reason are one entry.
type Pods struct {
	answers []v1alpha1.PodsAnswer
	// places has the index of each reason in answers. Each pod may wait for a claim with a name of its own.
	places map[podsReason]int
}

type podsReason struct {
	state   v1alpha1.State
	message string
}

// Add adds the reason why a pod waits.
func (p *Pods) Add(task *api.TaskInfo, cause v1alpha1.Refusal) {
	reason := podsReason{StateOfPod(task), cause.Message}
	if i, known := p.places[reason]; known {
		p.answers[i].Count++
		return
	}
	if p.places == nil {
		p.places = map[podsReason]int{}
	}
	p.places[reason] = len(p.answers)
	p.answers = append(p.answers, v1alpha1.PodsAnswer{Example: describe.Object("Pod", &task.Pod.ObjectMeta), Count: 1, State: reason.state, Cause: cause})
}

// Answers returns the reasons, those of many pods first. If there are too many, the last ones are one entry with the first of their pods as example.
func (p *Pods) Answers() []v1alpha1.PodsAnswer {
	slices.SortStableFunc(p.answers, func(a, b v1alpha1.PodsAnswer) int { return cmp.Compare(b.Count, a.Count) })
	if len(p.answers) <= MaxAnswers {
		return p.answers
	}
	rare := p.answers[MaxAnswers-1:]
	others := v1alpha1.PodsAnswer{Example: rare[0].Example, State: rare[0].State, Cause: v1alpha1.Refusal{Message: otherReasons(len(rare))}}
	for i := range rare {
		others.Count += rare[i].Count
	}
	return append(p.answers[:MaxAnswers-1:MaxAnswers-1], others)
}
