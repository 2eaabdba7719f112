// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/report"
)

// promised tells victims why they are evicted, and notes since when the pods of a plan have been promised their nodes.
func (p *plugin) promised(rule eviction.Rule, job *api.JobInfo, plan *eviction.Plan) {
	for i := range plan.Victims {
		victim := &plan.Victims[i]
		p.cache.report.Evicted(victim.Pod, p.why(rule, job, victim))
	}
	for _, task := range plan.Pods {
		p.cache.reservations.promise(task.Pod.UID, report.Action(rule), p.cache.clock.Now())
	}
}

// why says why a pod is evicted.
func (p *plugin) why(rule eviction.Rule, job *api.JobInfo, victim *eviction.Victim) report.Eviction {
	pod := victim.For.Namespace + "/" + victim.For.Name
	other := p.jobOf(victim.TaskInfo)
	if rule == eviction.Preempt {
		return report.Preempted{
			Pod: pod, Queue: string(job.Queue), Job: nameOf(job), VictimJob: nameOf(other), Priority: job.Priority, VictimPriority: other.Priority,
		}
	}
	return report.Reclaimed{
		Pod: pod, Queue: string(job.Queue), VictimQueue: p.chargedQueue(victim.TaskInfo), Dimension: victim.Dimension,
		Gains: p.shareOf(victim.Gains), Loses: p.shareOf(victim.Loses),
	}
}

// chargedQueue returns the name of the queue that a pod of the session is charged to.
func (p *plugin) chargedQueue(task *api.TaskInfo) string {
	return p.snapshot.Ledger.Name(p.snapshot.Known(task.Pod).Queue)
}

// nameOf returns the name that the owner of a job knows: that of what the PodGroup was made for.
func nameOf(job *api.JobInfo) string {
	if job.PodGroup != nil {
		if owner := metav1.GetControllerOf(&job.PodGroup.PodGroup); owner != nil {
			return job.Namespace + "/" + owner.Name
		}
	}
	return job.Namespace + "/" + job.Name
}

func (p *plugin) shareOf(share eviction.Share) report.QueueShare {
	return report.QueueShare{Queue: p.snapshot.Ledger.Name(share.Queue), Held: share.Held, Deserved: share.Deserved}
}

// tellWaiting says of pods for which others were evicted for whom they wait.
func (p *plugin) tellWaiting() {
	for name := range p.kept {
		node := p.session.Nodes[name]
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
			if job := p.jobOf(task); task.Status == api.Pipelined && job != nil && len(leaving) > 0 {
				p.cache.report.Waits(job, job.Tasks[task.UID], report.WaitsForVictims{Node: name, Pods: leaving})
			}
		}
	}
}

// cannotReclaim says why a queue cannot take back what it deserves for a job, and what stands in the way. It is nil if the queue does not
// deserve what the job asks for.
func (p *plugin) cannotReclaim(job *api.JobInfo) (*report.CannotReclaim, eviction.Obstacle) {
	found, deserves := p.solver().Obstacle(job)
	queue, known := p.snapshot.Ledger.Queue(string(job.Queue))
	if !deserves || !known {
		return nil, eviction.Obstacle{}
	}
	cannot := report.CannotReclaim{
		Queue: string(job.Queue), Dimension: p.snapshot.Dimensions.Dimension(found.Dimension), Asked: found.Asked,
		Deserved: p.snapshot.Ledger.Target(queue, found.Dimension).Amount, Held: p.snapshot.Ledger.Balance(queue, ledger.Allocated, found.Dimension),
	}
	switch {
	case !found.Above:
		cannot.Obstacle = report.NobodyHoldsMore
	case found.Candidates > 0:
		cannot.Obstacle = report.NoNodeWithVictims
	case found.Gangs+found.Budgets > 0:
		cannot.Obstacle, cannot.Gangs, cannot.Budgets = report.Protected, found.Gangs, found.Budgets
	default:
		cannot.Obstacle = report.NotReclaimable
	}
	return &cannot, found
}

func (p *plugin) tellCannotReclaim(cannot *report.CannotReclaim) {
	if cannot != nil {
		p.snapshot.Problems.CannotReclaim(cannot.Queue, cannot.Message())
	}
}

// noteProtected notes that gangs keep a job from getting what its queue deserves.
func (p *plugin) noteProtected(job *api.JobInfo, found eviction.Obstacle) {
	if found.Gangs == 0 || p.arguments.ReclaimGangs {
		return
	}
	if p.protected == nil {
		p.protected = map[api.JobID]int{}
	}
	p.protected[job.UID] = found.Gangs
}

// explained adds to a refusal of a pod that gangs keep the pod from getting what its queue deserves.
func (p *plugin) explained(job api.JobID, refusal report.Refusal) report.Refusal {
	if gangs := p.protected[job]; gangs > 0 {
		return report.ProtectedByGangs{Refusal: refusal, Pods: gangs}
	}
	return refusal
}
