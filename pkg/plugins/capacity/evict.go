// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"errors"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/features"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/util"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/eviction"
)

// errElsewhere says that upstream's actions do not evict for a pod.
var errElsewhere = errors.New("evictions for pods with devices and cards are decided by the job as a whole")

// evictFor makes room for the jobs that ask for devices or for cards that count, in the order of queues and jobs.
func (p *plugin) evictFor(rule eviction.Rule) {
	p.clusterState = 0
	queues, jobs := p.askers()
	for !queues.Empty() {
		queue := queues.Pop().(*api.QueueInfo)
		if p.session.Overused(queue) {
			continue
		}
		p.makeRoom(rule, jobs[queue.UID].Pop().(*api.JobInfo))
		if !jobs[queue.UID].Empty() {
			queues.Push(queue)
		}
	}
}

// askers returns the jobs that may ask, by queue, in their order.
func (p *plugin) askers() (*util.PriorityQueue, map[api.QueueID]*util.PriorityQueue) {
	queues, jobs := util.NewPriorityQueue(p.session.QueueOrderFn), map[api.QueueID]*util.PriorityQueue{}
	for _, job := range p.session.Jobs {
		queue := p.session.Queues[job.Queue]
		if queue == nil || !p.asks(job) {
			continue
		}
		if jobs[queue.UID] == nil {
			jobs[queue.UID] = util.NewPriorityQueue(p.session.JobOrderFn)
			queues.Push(queue)
		}
		jobs[queue.UID].Push(job)
	}
	return queues, jobs
}

// asks reports whether a job asks for devices or for cards that count, and may ask others for room. As upstream, a job with a
// network topology does not, because its pods may go to some nodes only together.
func (p *plugin) asks(job *api.JobInfo) bool {
	if job.IsPending() || len(job.TaskStatusIndex[api.Pending]) == 0 || job.ContainsNetworkTopology() || !p.decides(job) {
		return false
	}
	valid := p.session.JobValid(job)
	return valid == nil || valid.Pass
}

// decides reports whether this plugin, and not upstream, decides about evictions for a job: some pod of it asks for devices,
// or for cards that its queue limits or deserves.
func (p *plugin) decides(job *api.JobInfo) bool {
	decides, known := p.decided[job.UID]
	if known {
		return decides
	}
	for _, task := range job.Tasks {
		if decides = p.asksForDevices(task); decides {
			break
		}
	}
	if p.decided == nil {
		p.decided = map[api.JobID]bool{}
	}
	p.decided[job.UID] = decides
	return decides
}

func (p *plugin) asksForDevices(task *api.TaskInfo) bool {
	pod := p.snapshot.Known(task.Pod)
	return pod != nil && pod.InLedger && (pod.MayGetDevices() && p.devices != nil || p.snapshot.CountsCards(pod))
}

// makeRoom evicts others for a job if that is right.
func (p *plugin) makeRoom(rule eviction.Rule, job *api.JobInfo) {
	if p.devicesNotReady != nil || p.cardsNotReady != nil || p.isHopeless(rule, job) {
		return
	}
	plan := p.solver().Plan(rule, job)
	if plan == nil {
		p.noteHopeless(rule, job)
		klog.V(4).InfoS("Nobody can be evicted for a job", "job", klog.KRef(job.Namespace, job.Name), "rule", rule)
		return
	}
	klog.V(3).InfoS("Room is made for a job", "job", klog.KRef(job.Namespace, job.Name), "rule", rule, "pods", len(plan.Pods), "victims", len(plan.Victims))
	plan.Commit()
	p.clusterState = 0
	p.keep(plan.Pods)
	if len(plan.Victims) == 0 {
		p.await(job, plan.Pods)
		return
	}
	p.nominate(plan.Pods)
	p.promised(rule, job, plan)
}

// solver returns the solver of the session.
func (p *plugin) solver() *eviction.Solver {
	if p.solves == nil {
		p.solves = eviction.New(eviction.Config{
			Session: p.session, Snapshot: p.snapshot, Owner: p.Name(), CardsOn: p.countedCardsOn, Obtainable: p.obtainable,
			Avoids:  func(job *api.JobInfo, node *api.NodeInfo) bool { return p.cache.reservations.hasFailed(job, node.Name) },
			Budgets: p.disruptionBudgets(), WholeGangs: p.arguments.ReclaimGangs,
		})
	}
	return p.solves
}

func (p *plugin) disruptionBudgets() policylisters.PodDisruptionBudgetLister {
	if !utilfeature.DefaultFeatureGate.Enabled(features.PodDisruptionBudgetsSupport) {
		return nil
	}
	return p.session.InformerFactory().Policy().V1().PodDisruptionBudgets().Lister()
}

// obtainable returns what the devices of a pod would come to on a node if these pods were gone. The error says why the pod could
// not have its devices there even then.
func (p *plugin) obtainable(task *api.TaskInfo, node *api.NodeInfo, gone []*demand.Pod) (ledger.Amounts, error) {
	placement := p.placementOn(task, node)
	if placement == nil || !placement.begun || placement.devices == nil {
		return nil, errors.New("PrePredicate of the pod has not run")
	}
	return p.devices.Obtainable(placement.devices, node.Node, append(p.leaving(node), gone...))
}
