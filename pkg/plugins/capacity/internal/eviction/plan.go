// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/devicequota/devicequota/pkg/demand"
	"github.com/devicequota/devicequota/pkg/ledger"
	"github.com/devicequota/devicequota/pkg/plugins/capacity/internal/hypernodes"
	"github.com/devicequota/devicequota/pkg/plugins/predicates"
)

// Plan makes room for a job. Nothing has been sent to the API server yet.
type Plan struct {
	planning   *planning
	statements []*framework.Statement
	// Victims are the evicted pods.
	Victims []Victim
	// Pods are the pipelined pods.
	Pods []*api.TaskInfo
	// HyperNode has all pods of the job. It is empty if the job may use all nodes.
	HyperNode string
}

// planning is a plan in progress.
type planning struct {
	*preemptor
	steps []step
	// changed has the pods whose PrePredicate ran while there were steps. Its results depend on these steps.
	changed map[*api.TaskInfo]bool
	// trials has the domains in which groups were tried, by their likeness and the name of the domain.
	trials map[string]map[string]trial
}

// step gives a node to a pod, in a separate statement.
type step struct {
	statement *framework.Statement
	task      *api.TaskInfo
	node      *api.NodeInfo
	domain    hypernodes.Domain
	// last is what Volcano would report about the task without the step.
	last *api.TransactionContext
	// set has the units that are evicted for the pod. short is what the pod lacks while they are there.
	set   []int
	short ledger.Amounts
	// victims are the pods of the set.
	victims []Victim
}

// Commit sends the evictions to the API server.
func (p *Plan) Commit() {
	for _, statement := range p.statements {
		statement.Commit()
	}
}

// Discard undoes a plan that is not to be carried out.
func (p *Plan) Discard() {
	p.planning.discard()
	p.planning.prepareAgain()
}

// Plan makes room for the minimum of a job, and for as many more of its pods as possible. It returns nil, and changes
// nothing, if there is no right set of victims for the minimum. If no set of single pods suffices, whole gangs may go: first those that cannot lose a single pod.
func (s *Solver) Plan(rule Rule, job *api.JobInfo) *Plan {
	s.budgets.recount()
	a := s.jobs[rule][job.UID]
	if a == nil {
		if a = s.preemptorFor(rule, job); a == nil {
			return nil
		}
		s.jobs[rule][job.UID] = a
	}
	a.begin()
	a.tasks = a.waiting(MayAsk)
	for _, a.whole = range []wholes{noGangs, tightGangs, allGangs} {
		if a.whole != noGangs && !s.WholeGangs || a.whole == allGangs && !a.elastic {
			break
		}
		a.findUnits()
		if plan := a.cheapestPlan(hypernodes.Domains(s.Session, job)); plan != nil {
			return plan
		}
	}
	return nil
}

// planIn plans with the nodes of a domain. It returns nil, and changes nothing, if there is no plan.
func (a *preemptor) planIn(domain hypernodes.Domain) *Plan {
	a.enter(domain)
	p := &planning{preemptor: a, changed: map[*api.TaskInfo]bool{}, trials: map[string]map[string]trial{}}
	if !p.placeAll() || !p.trim() {
		p.discard()
		p.prepareAgain()
		return nil
	}
	plan := &Plan{planning: p, HyperNode: domain.Name}
	for _, step := range p.steps {
		plan.statements, plan.Pods = append(plan.statements, step.statement), append(plan.Pods, step.task)
		plan.Victims = append(plan.Victims, step.victims...)
	}
	return plan
}

// place gives a pod the cheapest place. It reports whether there is one.
func (p *planning) place(task *api.TaskInfo, pod *demand.Pod) bool {
	if p.exhausted() {
		return false
	}
	if known := p.roles[p.Solver.roles.of(task, pod)]; known != nil && known.none() {
		return false // PrePredicate may take long, and would change nothing
	}
	p.spend(effortOfPod)
	if err := p.prepare(task); err != nil {
		klog.V(3).InfoS("Pod cannot ask for room", "pod", klog.KObj(task.Pod), "reason", err.Error())
		return false
	}
	places := p.placesOf(task, pod)
	var refused []int
	for {
		i := p.cheapest(places, task, pod)
		if i < 0 {
			return false
		}
		if p.take(step{task: task, node: places.nodes[i], domain: p.domain, set: places.candidates[i].set, short: places.candidates[i].short}) {
			break
		}
		places.candidates[i].inadmissible = true
		refused = append(refused, i)
	}
	if DependsOnOthers(&task.Pod.Spec) {
		for _, i := range refused {
			places.candidates[i].asked = false // with this pod in its place, the node may suit the next one
		}
	}
	return true
}

// prepare runs PrePredicate for a pod.
func (p *planning) prepare(task *api.TaskInfo) error {
	if len(p.steps) > 0 {
		p.changed[task] = true
	}
	return p.Session.PrePredicateFn(task)
}

// prepareAgain runs PrePredicate again for pods that saw steps which are undone by now. Its results also explain, at the end of the
// session, why these pods wait.
func (p *planning) prepareAgain() {
	for task := range p.changed {
		_ = p.Session.PrePredicateFn(task) // it reports why no node is suitable
	}
	clear(p.changed)
}

// take evicts the victims of a step and pipelines its pod. It reports whether the node then suits the pod. If not, nothing is changed.
func (p *planning) take(s step) bool {
	s.statement, s.victims, s.last = framework.NewStatement(p.Session), p.explain(&s), s.task.LastTransaction
	for _, i := range s.set {
		for _, task := range p.all[i].tasks {
			if err := s.statement.Evict(task, string(p.rule)); err != nil {
				klog.ErrorS(err, "Failed to simulate an eviction", "pod", klog.KObj(task.Pod))
				s.statement.Discard()
				return false
			}
		}
	}
	if err := p.pipeline(&s); err != nil {
		klog.V(3).InfoS("Node does not suit a pod although there is room", "pod", klog.KObj(s.task.Pod), "node", s.node.Name, "reason", err.Error())
		s.statement.Discard()
		return false
	}
	for _, i := range s.set {
		p.all[i].evicted = true
		if len(p.all[i].tasks) > 1 {
			p.forgetInadmissible()
		}
	}
	p.grant()
	p.budgets.spend(s.victims)
	p.steps = append(p.steps, s)
	p.version++
	return true
}

// pipeline gives the pod of a step its node. It runs PrePredicate again, because its results depend on the pods that are there.
func (p *planning) pipeline(s *step) error {
	p.changed[s.task] = true
	if err := p.asIfLeft(s); err != nil {
		return err
	}
	return Pipeline(s.statement, s.task, s.node.Name)
}

// asIfLeft runs PrePredicate, and asks whether the node suits the pod, as if the pods that are leaving the node had left it.
func (p *planning) asIfLeft(s *step) error {
	var leaving []*corev1.Pod
	for _, task := range s.node.Tasks {
		if p.Snapshot.IsLeaving(task) {
			leaving = append(leaving, task.Pod)
		}
	}
	defer predicates.Without(p.Session, s.node.Name, leaving)()
	if err := p.Session.PrePredicateFn(s.task); err != nil {
		return err
	}
	return p.suits(s.task, s.node)
}

// Pipeline pipelines a pod to a node in a statement. On error, nothing is changed: Volcano leaves the undoing to its callers.
func Pipeline(statement *framework.Statement, task *api.TaskInfo, node string) error {
	err := statement.Pipeline(task, node, true)
	if err != nil {
		if undo := statement.UnPipeline(task); undo != nil {
			klog.ErrorS(undo, "Failed to undo that a pod is pipelined", "pod", klog.KObj(task.Pod))
		}
	}
	return err
}

// suits asks the queue and the other plugins whether the pod fits on the node without the victims.
func (p *planning) suits(task *api.TaskInfo, node *api.NodeInfo) error {
	p.checking = true
	defer func() { p.checking = false }()
	if queue := p.Session.Queues[p.job.Queue]; queue == nil || !p.Session.Allocatable(queue, task) {
		return fmt.Errorf("queue %s does not take the pod", p.job.Queue)
	}
	return p.Session.PredicateFn(task, node)
}

// forgetInadmissible searches for candidates again on all nodes, because room was freed on several nodes.
func (p *planning) forgetInadmissible() {
	for _, places := range p.roles {
		for i := range places.candidates {
			places.candidates[i].asked = false
		}
	}
}

// discard undoes all steps.
func (p *planning) discard() { p.undo(0) }

// undo undoes all steps from the given index on.
func (p *planning) undo(from int) {
	for _, step := range slices.Backward(p.steps[from:]) {
		step.statement.Discard()
		p.budgets.refund(step.victims)
		step.task.LastTransaction = step.last // otherwise, Volcano would write the nominated node of a pod that gets nothing
		for _, i := range step.set {
			p.all[i].evicted = false
		}
	}
	p.steps = p.steps[:from:from]
	p.version++
}
