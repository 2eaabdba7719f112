// SPDX-License-Identifier: Apache-2.0

// Package elastic makes room for jobs that ask for devices or cards, with evictions planned by package eviction. It remembers the jobs for
// which no pod can be evicted, and tells victims and jobs the reasons.
package elastic

import (
	"errors"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/features"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/checks"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/nomination"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/placement"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/snapshot"
)

// ErrElsewhere says that upstream's actions do not evict for a pod.
var ErrElsewhere = errors.New("evictions for pods with devices and cards are decided by the job as a whole")

// Session makes room for jobs in one session.
type Session struct {
	Volcano     *framework.Session
	Snapshot    *snapshot.Snapshot
	Checks      *checks.Session
	Placements  *placement.Session
	Nominations *nomination.Session
	Report      *report.Reporter
	Cache       *Cache
	Clock       clock.PassiveClock
	// Owner is the name under which the plugin joined the session.
	Owner string
	// WholeGangs says that gangs may be evicted whole.
	WholeGangs bool

	// solves finds victims. It is nil until a job asks.
	solves *eviction.Solver
	// forgotten counts the questions that were asked again because the answer was old.
	forgotten int
	// protected has, for each job, the number of gang pods that keep it from getting what its queue deserves. It is nil if there are none.
	protected map[api.JobID]int
	// clusterState is a hash of everything that decides whether victims can be evicted, zero if unknown.
	clusterState uint64
	// nodesState is a hash of everything that decides whether jobs could ever start, zero if unknown.
	nodesState uint64
}

// Permits reports whether the plugin must permit all victims, because the search for victims itself is asking it.
func (s *Session) Permits() bool { return s.solves != nil && s.solves.Asked() }

// Scope returns the reasons for which a node may be refused now.
func (s *Session) Scope() placement.Scope {
	switch {
	case s.solves != nil && s.solves.Checking():
		return placement.OutdatedOnly
	case s.solves != nil && s.solves.Filtering():
		return placement.CardsOnly
	default:
		return placement.Everything
	}
}

// EvictFor makes room for jobs for which evictions are planned as a whole, in the order of queues and jobs.
func (s *Session) EvictFor(rule eviction.Rule) {
	s.clusterState = 0
	s.Cache.turns[rule].begin(s.Clock.Now())
	queues, jobs := s.preemptors()
	for !queues.Empty() {
		queue := queues.Pop().(*api.QueueInfo)
		if s.Volcano.Overused(queue) {
			continue
		}
		s.makeRoom(rule, jobs[queue.UID].Pop().(*api.JobInfo))
		if !jobs[queue.UID].Empty() {
			queues.Push(queue)
		}
	}
}

// preemptors returns the jobs that may ask, by queue, in their order.
func (s *Session) preemptors() (*util.PriorityQueue, map[api.QueueID]*util.PriorityQueue) {
	queues, jobs := util.NewPriorityQueue(s.Volcano.QueueOrderFn), map[api.QueueID]*util.PriorityQueue{}
	for _, job := range s.Volcano.Jobs {
		queue := s.Volcano.Queues[job.Queue]
		if queue == nil || !s.Asks(job) {
			continue
		}
		if jobs[queue.UID] == nil {
			jobs[queue.UID] = util.NewPriorityQueue(s.Volcano.JobOrderFn)
			queues.Push(queue)
		}
		jobs[queue.UID].Push(job)
	}
	return queues, jobs
}

// Asks reports whether evictions for a job are planned as a whole, and the job may ask for the room of other pods.
func (s *Session) Asks(job *api.JobInfo) bool {
	if job.IsPending() || len(job.TaskStatusIndex[api.Pending]) == 0 || !hypernodes.Known(s.Volcano, job) || !s.Placements.EvictsTogether(job) {
		return false
	}
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if s.Checks.BindingFailed(task) != nil {
			return false
		}
	}
	valid := s.Volcano.JobValid(job)
	return valid == nil || valid.Pass
}

// makeRoom evicts pods for a job if there is a right set of victims.
func (s *Session) makeRoom(rule eviction.Rule, job *api.JobInfo) {
	if s.Checks.NotReady() != nil || s.isInadmissible(rule, job) || !s.staysAdmitted(job) {
		return
	}
	begun := s.Clock.Now()
	plan := s.Solver().Plan(rule, job)
	if plan == nil {
		s.noteInadmissible(rule, job, begun)
		klog.V(4).InfoS("Nobody can be evicted for a job", "job", klog.KRef(job.Namespace, job.Name), "rule", rule)
		return
	}
	klog.V(3).InfoS("Room is made for a job", "job", klog.KRef(job.Namespace, job.Name), "rule", rule, "pods", len(plan.Pods), "victims", len(plan.Victims))
	plan.Commit()
	s.clusterState = 0
	if len(plan.Victims) == 0 {
		s.Nominations.Await(job, plan.Pods)
		s.Cache.turns[rule].awaits(s.Clock.Since(begun))
		return
	}
	s.Nominations.Nominate(job, plan.Pods)
	s.tellEvicted(rule, job, plan)
}

// staysAdmitted reports whether a job is still admitted when the session has closed. Volcano makes a job that has started, and has neither running pods
// nor its minimum any more, ask its queue again.
func (s *Session) staysAdmitted(job *api.JobInfo) bool {
	if job.PodGroup.Status.Phase == scheduling.PodGroupInqueue || len(job.TaskStatusIndex[api.Running]) > 0 || job.ReadyTaskNum() >= job.PodGroup.Spec.MinMember {
		return true
	}
	queue, refusal := s.Snapshot.Queue(s.Volcano.Queues[job.Queue])
	return refusal == nil && s.Checks.Job(s.Checks.Ask(queue, job)).Refusal == nil
}

// Solver returns the solver of the session.
func (s *Session) Solver() *eviction.Solver {
	if s.solves == nil {
		s.solves = eviction.New(eviction.Config{
			Session: s.Volcano, Snapshot: s.Snapshot, Owner: s.Owner, CardsOn: s.Placements.CountedCardsOn, Obtainable: s.Placements.Obtainable, Published: s.Placements.Published, LargeEnough: s.Placements.LargeEnough,
			Avoids:  func(job *api.JobInfo, node *api.NodeInfo) bool { return s.Nominations.Cache.HasFailed(job, node.Name) },
			Budgets: s.disruptionBudgets(), WholeGangs: s.WholeGangs,
		})
	}
	return s.solves
}

func (s *Session) disruptionBudgets() policylisters.PodDisruptionBudgetLister {
	if !utilfeature.DefaultFeatureGate.Enabled(features.PodDisruptionBudgetsSupport) {
		return nil
	}
	return s.Volcano.InformerFactory().Policy().V1().PodDisruptionBudgets().Lister()
}
