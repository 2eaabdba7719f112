// SPDX-License-Identifier: Apache-2.0

package crossquota

import (
	"fmt"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// prePredicate is Volcano's PrePredicateFn. It is the first call for a pod, and not concurrent.
func (p *plugin) prePredicate(task *api.TaskInfo) error {
	p.preemption.Store(nil)
	p.begin(task)
	facts := p.cache.remember(task.Pod)
	if facts.counted && facts.unknownStrategy != "" && p.config.weight > 0 {
		p.cache.reportStrategy(task, facts.unknownStrategy)
	}
	return nil
}

// predicate is Volcano's PredicateFn. Several goroutines call it at the same time.
func (p *plugin) predicate(task *api.TaskInfo, node *api.NodeInfo) error {
	a := p.accounts[node.Name]
	if a == nil {
		return nil
	}
	facts := p.cache.facts(task.Pod)
	if !facts.counted || a.fits(facts.requests) {
		return nil
	}
	question := predicateQuestion{task: task.UID, node: node.Name}
	if _, again := p.asked.Load(question); again {
		return nil
	}
	if a.fitsAfter(nil, facts.requests) {
		p.releasing.Store(true)
	} else {
		p.full.Store(true)
	}
	if !p.evictionsHelp(task, a, facts.requests) {
		return p.refuse(task, node, a, facts.requests, api.UnschedulableAndUnresolvable)
	}
	if p.current != allocating {
		if err := p.othersRefuse(question, task, node); err != nil {
			return err
		}
	}
	return p.refuse(task, node, a, facts.requests, api.Unschedulable)
}

type predicateQuestion struct {
	task api.TaskID
	node string
}

// othersRefuse returns an error if another plugin refuses the node even after evictions. Volcano asks no
// further plugins once one has refused, and a refusal that evictions can resolve does not keep the
// actions from the node. Without this check they would evict pods in every cycle on nodes that, for
// example, the pod's affinity excludes.
func (p *plugin) othersRefuse(question predicateQuestion, task *api.TaskInfo, node *api.NodeInfo) error {
	p.asked.Store(question, nil)
	defer p.asked.Delete(question)
	return p.session.PredicateForPreemptAction(task, node)
}

// refuse returns an error with a reason for each resource whose quota the requests exceed. The code says
// whether evictions may help.
func (p *plugin) refuse(task *api.TaskInfo, node *api.NodeInfo, a *account, requests []amount, code int) error {
	var all []*api.Status
	for i := range requests {
		if a.exceeds(i, requests) {
			all = append(all, &api.Status{Code: code, Reason: p.config.resources[i].refusal(node.Name, a.facts.quotas[i], a.used[i], requests[i])})
		}
	}
	klog.V(4).InfoS("Refused a pod without GPU", "plugin", Name, "pod", klog.KObj(task.Pod), "node", node.Name, "reason", all[0].Reason)
	return api.NewFitErrWithStatus(task, node, all...)
}

func (r *resourceConfig) refusal(node string, quota, used, requested amount) string {
	remedy := "request less, or raise annotation " + r.keys[0] + " of the node"
	if requested <= quota {
		remedy = "wait, " + remedy
	}
	return fmt.Sprintf("node %s has a quota of %s of %s for pods without GPU, they use %s, and %s more would exceed it: %s",
		node, quota.human(r.name), r.name, used.human(r.name), requested.human(r.name), remedy)
}
