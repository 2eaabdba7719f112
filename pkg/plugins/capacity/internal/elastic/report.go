// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/apis/visibility/v1alpha1"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// tellEvicted tells victims why they are evicted. It also notes when the pods of a plan were promised their nodes.
func (s *Session) tellEvicted(rule eviction.Rule, job *api.JobInfo, plan *eviction.Plan) {
	for i := range plan.Victims {
		victim := &plan.Victims[i]
		why := s.why(rule, job, victim)
		s.Report.Evicted(victim.Pod, why)
		if other := s.Volcano.Jobs[victim.Job]; other != nil && other.PodGroup != nil {
			s.Cache.evicted[other.PodGroup.UID] = v1alpha1.LastEviction{Time: metav1.NewTime(s.Clock.Now()), Pod: victim.Pod.Name, Message: why.Message()}
		}
	}
	for _, task := range plan.Pods {
		s.Nominations.Cache.Evicted(task.Pod.UID, report.Action(rule), s.Clock.Now())
	}
}

// LastEviction returns the last eviction of a pod of a job by this process, nil if there is none.
func (s *Session) LastEviction(job *api.JobInfo) *v1alpha1.LastEviction {
	if job.PodGroup == nil {
		return nil
	}
	last, some := s.Cache.evicted[job.PodGroup.UID]
	if !some {
		return nil
	}
	return &last
}

// why returns why a pod is evicted.
func (s *Session) why(rule eviction.Rule, job *api.JobInfo, victim *eviction.Victim) report.Eviction {
	pod := victim.For.Namespace + "/" + victim.For.Name
	other := s.Volcano.Jobs[victim.Job]
	if rule == eviction.Preempt {
		return report.Preempted{
			Pod: pod, Queue: string(job.Queue), Job: nameOf(job), VictimJob: nameOf(other), Priority: job.Priority, VictimPriority: other.Priority,
		}
	}
	return report.Reclaimed{
		Pod: pod, Queue: string(job.Queue), VictimQueue: s.ChargedQueue(victim.TaskInfo), Dimension: victim.Dimension,
		Gains: s.shareOf(victim.Gains), Loses: s.shareOf(victim.Loses),
	}
}

// ChargedQueue returns the name of the queue that a pod of the session is charged to.
func (s *Session) ChargedQueue(task *api.TaskInfo) string {
	return s.Snapshot.Ledger.Name(s.Snapshot.Known(task.Pod).Queue)
}

// nameOf returns the job name that users know: the name of the PodGroup's owner.
func nameOf(job *api.JobInfo) string {
	if job.PodGroup != nil {
		if owner := metav1.GetControllerOf(&job.PodGroup.PodGroup); owner != nil {
			return job.Namespace + "/" + owner.Name
		}
	}
	return job.Namespace + "/" + job.Name
}

func (s *Session) shareOf(share eviction.Share) report.QueueShare {
	return report.QueueShare{Queue: s.Snapshot.Ledger.Name(share.Queue), Held: share.Held, Deserved: share.Deserved}
}

// TellWaiting reports, for pods with evicted victims, which pods they wait for.
func (s *Session) TellWaiting() {
	for name := range s.Nominations.Nodes() {
		node := s.Volcano.Nodes[name]
		if node == nil {
			continue
		}
		var leaving []string
		for _, task := range node.Tasks {
			if task.Status == api.Releasing {
				leaving = append(leaving, task.Namespace+"/"+task.Name)
			}
		}
		for _, task := range node.Tasks {
			if job := s.Volcano.Jobs[task.Job]; task.Status == api.Pipelined && job != nil && len(leaving) > 0 {
				s.Report.Waits(job, job.Tasks[task.UID], report.WaitsForVictims{Node: name, Pods: leaving})
			}
		}
	}
}

// CannotReclaim returns why a queue cannot take back what it deserves for a job, and the obstacle. It is nil if the queue does not
// deserve what the job asks for.
func (s *Session) CannotReclaim(job *api.JobInfo) (*report.CannotReclaim, eviction.Obstacle) {
	found, deserves := s.Solver().Obstacle(job)
	queue, known := s.Snapshot.Ledger.Queue(string(job.Queue))
	if !deserves || !known {
		return nil, eviction.Obstacle{}
	}
	cannot := report.CannotReclaim{
		Queue: string(job.Queue), Dimension: s.Snapshot.Dimensions.Dimension(found.Dimension), Asked: found.Asked,
		Deserved: s.Snapshot.Ledger.Target(queue, found.Dimension).Amount, Held: s.Snapshot.Ledger.Balance(queue, ledger.Allocated, found.Dimension),
	}
	switch {
	case !found.Above:
		cannot.Obstacle = report.NobodyHoldsMore
	case found.Candidates > 0 && job.ContainsHardTopology():
		cannot.Obstacle = report.NoHyperNodeWithVictims
	case found.Candidates > 0:
		cannot.Obstacle = report.NoNodeWithVictims
	case found.Gangs+found.Budgets > 0:
		cannot.Obstacle, cannot.Gangs, cannot.Budgets = report.Protected, found.Gangs, found.Budgets
	default:
		cannot.Obstacle = report.NotReclaimable
	}
	return &cannot, found
}

func (s *Session) tellCannotReclaim(cannot *report.CannotReclaim) {
	if cannot != nil {
		s.Snapshot.Problems.CannotReclaim(cannot.Queue, cannot.Message())
	}
}

// noteProtected notes that gangs keep a job from getting what its queue deserves.
func (s *Session) noteProtected(job *api.JobInfo, found eviction.Obstacle) {
	if found.Gangs == 0 || s.WholeGangs {
		return
	}
	if s.protected == nil {
		s.protected = map[api.JobID]int{}
	}
	s.protected[job.UID] = found.Gangs
}

// Explained adds to the refusal of a pod that gangs keep the pod from getting what its queue deserves.
func (s *Session) Explained(job api.JobID, refusal report.Refusal) report.Refusal {
	if gangs := s.protected[job]; gangs > 0 {
		return report.ProtectedByGangs{Refusal: refusal, Pods: gangs}
	}
	return refusal
}
